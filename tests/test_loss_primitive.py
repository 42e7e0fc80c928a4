"""Integrals of losses that searches compare."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from dpcore.loss import parse_loss
from dpcore.loss.primitive import Primitive

SPECS = [
    "l1", "l2", "lp:1.5", "lp:4", "huber:0.3", "asym:0.1:7", "pinball:0.3", "exceed:0.5", "steep:2",
    "steep-below:1", "table:-0.7=0.3,0.1=0.2,0.4=5", "table:1000000.1=2,1000000.3=0,1000000.7=1",
]  # fmt: skip

places = st.one_of(st.floats(-9, 9), st.sampled_from([0.0, 0.3, -0.7, 1000000.3, 1e6]))


@given(st.sampled_from(SPECS), places, st.lists(places, min_size=1, max_size=4))
def test_an_integral_is_what_quadrature_says(spec, origin, ends):
    loss = parse_loss(spec)
    for end, found in zip(ends, Primitive(loss, origin)(ends), strict=True):
        lo, hi = sorted((origin, end))
        cuts = [lo, *(x for x in loss.breaks.tolist() if lo < x < hi), hi]
        parts = (
            quad(lambda x: float(loss.value(x)), a, b, epsabs=0, epsrel=1e-11, limit=200)[0]
            for a, b in zip(cuts, cuts[1:])
        )
        assert found == pytest.approx(sum(parts) * (1 if end >= origin else -1), rel=1e-8, abs=1e-300)


@given(st.sampled_from(SPECS), places, st.floats(-12, -1))
def test_short_stretches_at_the_origin_keep_their_digits(spec, origin, log):
    loss = parse_loss(spec)
    ends = origin + np.array([-(10**log), 10**log])
    below, above = -Primitive(loss, origin)(ends) * [1, -1]
    widths = np.abs(ends - origin)
    expected = loss.mean([ends[0], origin], [origin, ends[1]]) * widths
    assert [below, above] == pytest.approx(expected, rel=1e-7, abs=1e-300)
