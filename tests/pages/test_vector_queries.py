"""The page "Vector queries" under AppTest, with the real core."""

from __future__ import annotations

import json
import math
import re
import shlex

import numpy as np
import pytest
from screens import idle, until, words
from streamlit.testing.v1 import AppTest

from dpcore import __version__
from dpcore.cli import main
from dpcore.cli.profile import report
from dpcore.figures import LIGHT
from dpcore.privacy import Privacy
from dpcore.vector import SensitivityProfile, VectorQuery, parse_profile
from dpcore.vector.compare import allocation
from pages.vector_queries import charts, panels, takeaway, work
from pages.vector_queries.controls import PAGE as VECTOR
from pages.vector_queries.controls import PANELS

PAGE = "pages/vector_queries/page.py"


def visit(**query) -> AppTest:
    """The page as its first run draws it, scripts unfolded: mechanisms with a closed form; programs and mixtures are
    under way."""
    page = AppTest.from_file(f"../../{PAGE}", default_timeout=60)
    page.session_state["script"] = True
    for key, value in query.items():
        page.query_params[key] = value
    page.run()
    assert not page.exception, page.exception[0].value
    return page


def settle(page: AppTest) -> AppTest:
    """Run again until the answers are there: timers do not fire under AppTest."""
    for _ in range(100):
        assert not page.exception, page.exception[0].value
        if not any("Still looking" in c.value or "tried so far" in c.value for c in page.caption):
            return page
        idle(10)
        page.run()
    return page


def headline(page: AppTest) -> str:
    return next(m.value for m in page.markdown if "coordinate" in m.value and "**" in m.value)


def test_the_headline_has_the_numbers_of_the_core():
    page = visit()
    query = VectorQuery(Privacy(0.5, 1e-6), parse_profile("exponential:20", normalise="l2"))
    blocks, best = allocation(query, "blocks-optimal").error, allocation(query, "laplace-optimal").error
    assert f"**{blocks:.4g}**" in headline(page) or f"**{blocks:.3f}"[:6] in headline(page)
    assert f"**{best:.4g}**" in headline(page)


def test_the_verdict_names_the_dimension():
    page = visit(shape="uniform", dimension="9")
    text = " ".join(c.value for c in page.caption)
    assert "Gaussian noise wins here" in text and "from K = 9 on" in text
    assert "Laplace noise wins here" in " ".join(c.value for c in visit(shape="uniform", dimension="8").caption)


@pytest.mark.parametrize("panel", list(PANELS))
def test_every_panel_is_drawn(panel):
    page = settle(visit(panel=panel))
    assert not page.error


@pytest.mark.parametrize("application", ["lasso", "logistic", "layers"])
def test_applications(application):
    page = settle(visit(panel="applications", application=application, trials="2"))
    assert not page.error


OWN = {"shape": "list", "numbers": "120, 0.5, 3", "epsilon": "0.5", "delta": "0", "panel": "export"}


@pytest.mark.parametrize("scaling", [{}, {"norm": "l1"}, {"norm": "l2"}, {"norm": "none"}])
def test_own_numbers_are_never_scaled(scaling, capsys):
    """Also in old links that ask for it: headline, files, command, script and release have noise for 120, not for 1."""
    page = visit(**OWN, **scaling)
    query = VectorQuery(Privacy(0.5, 0), SensitivityProfile((120.0, 0.5, 3.0)))
    assert f"**{allocation(query, 'blocks-optimal').error:.4g}**" in headline(page)
    assert not any(box.key == "norm" for box in page.selectbox)
    assert any("Taken as they are" in c.value for c in page.caption)
    command, script = page.code[0].value, page.code[1].value
    assert main(shlex.split(command.replace("\\\n", " "))[3:]) == 0
    rows = {row["key"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["laplace-spr"]["scales"] == pytest.approx([720, 3, 18], rel=1e-12)
    page.text_area(key="true_values").set_value("5000; 5000; 5000").run()
    assert any("more than its sensitivity (120, 0.5, 3)" in c.value for c in page.caption)
    released, drawn = [], []
    for _ in range(4):
        page.button(key="release_one").click().run()
        released.append(float(page.code[0].value.split(",")[0]) - 5000)
        space = {"__name__": "script"}
        exec(script, space)
        drawn.append(space["release"]([0.0, 0.0, 0.0])[0])
    for noise in (released, drawn):  # below 2 with probability below 1 % each
        assert max(map(abs, noise)) > 2


def test_named_profiles_are_scaled_and_say_so():
    page = visit(shape="linear", dimension="3", norm="l1", panel="export")
    assert page.selectbox(key="norm").value == "l1" and "--profile linear:3 --normalise l1" in page.code[0].value
    broken = visit(shape="exponential", dimension="28", norm="none")
    assert any("dimension K = 28: expected up to 27" in e.value for e in broken.error)


def test_lists_bad_input_and_the_way_back():
    page = visit(shape="list", numbers="3, -1")
    assert any("sensitivities = -1" in e.value for e in page.error) and not page.exception
    page.text_area(key="numbers").set_value("3, 1").run()
    assert not page.error and headline(page).startswith("2 coordinates")
    for values in ({"numbers": "a"}, {"epsilon": "99"}, {"power": "0.2"}, {"delta": "2"}, {"l2": "0.001"}):
        broken = visit(shape="list", **values)
        assert broken.error and not broken.exception
    for values in ({"delta": "0"}, {"epsilon": "0", "delta": "0.1"}, {"dimension": "1"}, {"shape": "one-hot"}):
        assert not visit(**values).error


def uploaded(text: str | bytes, **query) -> AppTest:
    """The page after a file was put into its box."""
    page = visit(shape="list", **query)
    raw = text if isinstance(text, bytes) else text.encode()
    page.file_uploader(key="vector_file").upload("sensitivities.csv", raw, "text/csv")
    return page.run()


def looked_at(page: AppTest) -> list[tuple[str, str]]:
    """(name, sensitivity) of the lines of the preview."""
    table = next(one.value for one in page.dataframe if [*one.value.columns] == ["name", "sensitivity"])
    return [*table.itertuples(index=False, name=None)]


def test_a_file_is_looked_at_and_fills_the_list_to_the_last_digit():
    """Rounded down, a sensitivity would promise more privacy than there is."""
    page = uploaded("\ufeffname;lower;upper\nage;0;0.12345678901\npay_check;0.1;3e5\nsite;7;7\n")
    assert looked_at(page) == [("age", "0.12345678901"), ("pay_check", "299999.9"), ("site", "0")]
    assert any("Sensitivity 0: site." in w.value for w in page.warning)
    assert "coordinates (" not in headline(page), "nothing is used before it was looked at"
    page.button(key="vector_take").click().run()
    assert page.text_area(key="numbers").value == "age: 0.12345678901\npay_check: 299999.9\nsite: 0"
    assert headline(page).startswith("3 coordinates \\(age\\, pay\\_check\\, site\\), ")


def test_the_columns_of_a_file_can_be_chosen():
    page = uploaded("bin,low_risk,l1\na,1,20\nb,2,30\nc,5,40\n", panel="export", delta="0")
    column = page.selectbox[[box.label for box in page.selectbox].index("Sensitivities")]
    assert column.value is None and any("Choose the column" in i.value for i in page.info)
    assert not any(button.key == "vector_take" for button in page.button)
    column.select_index(1).run()
    assert looked_at(page) == [("a", "20"), ("b", "30"), ("c", "40")]
    names = page.selectbox[[box.label for box in page.selectbox].index("Names")]
    assert names.options == ["none", "bin", "low_risk"]
    names.select_index(0).run()
    assert looked_at(page)[0] == ("coordinate 1", "20")
    page.button(key="vector_take").click().run()
    assert page.text_area(key="numbers").value == "20; 30; 40"
    assert "--profile 20.0,30.0,40.0 " in page.code[0].value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,age,salary\n0,34,51000\n1,29,48000\n", "one line per p.*columns called age, salary.*public statement"),
        ("sensitivity\n0,5\n2,5\n", "line 2 of the file = 0,5 in sensitivity: .*write 0.5"),
        ("a,1\n<img src=x>,x\n[b](//c.d),2\n", "x in column 2"),
        ("sensitivity\n" + "1\n" * 6000, "sensitivities = 6000 numbers: expected a shorter file"),
        ("\u00e4,1".encode("utf-16"), "not text in UTF-8"),
    ],
)
def test_a_file_that_is_not_accepted_is_said_to_be(text, said):
    page = uploaded(text)
    assert re.search(said, " ".join(e.value for e in page.error)), [e.value for e in page.error]
    assert not any(button.key == "vector_take" for button in page.button)


def test_names_are_seen_where_numbers_are():
    page = visit(shape="list", numbers="age: 3\nvisits: 2; www.x.y: 1", delta="0", panel="export")
    assert headline(page).startswith("3 coordinates \\(age\\, visits\\, www\u2060\\.x\\.y\\), 0.5-DP")
    query = VectorQuery(Privacy(0.5, 0), SensitivityProfile((3.0, 2.0, 1.0), names=("age", "visits", "www.x.y")))
    found = work.closed(query)
    assert [line["name"] for line in panels.columns(query, found)] == ["age", "visits", "www.x.y"]
    lines = takeaway.scales_csv(query, found).splitlines()
    assert lines[0].startswith("coordinate,name,sensitivity,") and lines[1].startswith("1,age,3.0,")
    assert all(row["names"] == ["age", "visits", "www.x.y"] for row in report(query, list(found)))
    figure = charts.by_coordinate([found[3]], "errors", "E", LIGHT, names=query.profile.names)
    assert figure.layout.xaxis.ticktext == ("age", "visits", "www.x.y")
    names = tuple(f"a quite long name {i}" for i in range(30))
    many = VectorQuery(Privacy(0.5, 0), SensitivityProfile((1.0,) * 30, names=names))
    assert panels._some_names(many) == " (a quite long name 0, a quite long name 1 …)"


@pytest.mark.parametrize("numbers", ["<b>x</b>: 3", "=cmd: 3; a: 2", "a: 0,5", "0,5 0,25 1", "linear:x", "a: 1e-400"])
def test_a_link_with_other_names_or_numbers_is_refused(numbers):
    page = visit(shape="list", numbers=numbers)
    assert any("sensitivities = " in e.value for e in page.error) and not page.exception


def test_a_hostile_link_is_not_understood_but_noted():
    page = visit(shape="<script>", dimension="1e9", panel="x")
    assert not page.exception and page.selectbox(key="shape").value == "exponential"


def test_next_steps_change_the_controls():
    page = visit()
    page.button(key="step_0").click().run()
    assert headline(page).startswith("2 coordinates, 3-DP: mean absolute error")


def test_files_and_command():
    query = VectorQuery(Privacy(0.5, 1e-6), parse_profile("1,2,3"))
    found = work.closed(query)
    lines = takeaway.scales_csv(query, found).splitlines()
    told = json.loads(takeaway.companion(query, found))
    assert told["version"] == __version__ and told["mechanisms"] == report(query, list(found))
    assert told["problem"] == {
        "epsilon": 0.5, "delta": 1e-6, "sensitivities": [1.0, 2.0, 3.0], "power": 2.0, "weights": None
    }  # fmt: skip
    expected = "vector_epsilon-0.5_delta-1e-06_3-coordinates_sensitivities-1-to-3_power-2"
    assert takeaway.file_stem(query) == expected
    assert len(lines) == 4 and lines[0].startswith("coordinate,sensitivity,gaussian-iid")
    assert [float(line.split(",")[1]) for line in lines[1:]] == [1, 2, 3]
    rows = panels.rows(found)
    assert rows[2]["mechanism"] == "Gaussian, optimal" and rows[2]["saved"].endswith("dB")
    assert len(panels.columns(query, found)) == 3


def test_a_release_and_its_script():
    """The button releases all coordinates; the script that is offered runs and releases them too."""
    page = visit(panel="export", shape="list", numbers="3, 2, 1", delta="0")
    page.text_area(key="true_values").set_value("100, 200").run()
    page.button(key="release_one").click().run()
    assert not page.exception and not page.error
    numbers = [float(word) for word in page.code[0].value.split(",")]
    assert len(numbers) == 3 and numbers[:2] != [100, 200] and numbers[2] != 0
    assert any("an exact draw" in c.value for c in page.caption)
    assert any("2 of 3 values were given; the others counted as 0" in c.value for c in page.caption)
    space = {"__name__": "script"}
    exec(page.code[2].value, space)
    assert len(space["release"]([100, 200, 0])) == 3 and space["PROBLEM"]["sensitivities"] == [3.0, 2.0, 1.0]
    page.text_area(key="true_values").set_value("1, 2, 3, 4").run()
    page.button(key="release_one").click().run()
    assert page.error and not page.exception


def test_gaussian_noise_is_released_exactly():
    page = visit(panel="export", dimension="4", released="gaussian-optimal")
    page.button(key="release_one").click().run()
    assert any("an exact draw" in c.value for c in page.caption) and len(page.code[0].value.split(",")) == 4
    space = {"__name__": "script"}
    exec(page.code[2].value, space)
    assert len(space["release"]([1, 2, 3, 4])) == 4 and "for looking" not in page.code[2].value
    assert any("stands in" in c.value for c in visit(panel="export", released="planar-staircase").caption)
    without = visit(panel="export", epsilon="0", delta="0.1", dimension="3")
    assert any(c.value.startswith("Gaussian") and "an exact draw" in c.value for c in without.caption)


def test_samples_and_coupled_coordinates():
    query = VectorQuery(Privacy(0.5, 1e-6), parse_profile("1,2,3"))
    one = next(one for one in work.closed(query) if one.key == "blocks-optimal")
    lines = takeaway.samples_csv(one).splitlines()
    assert lines[0] == "noise 1,noise 2,noise 3" and len(lines) == 1001
    assert lines == takeaway.samples_csv(one).splitlines()
    page = visit(panel="export", shape="list", numbers="1, 2, 3", l1="4", l2="3.5")
    assert "--l1 4.0 --l2 3.5" in page.code[0].value and '"l1": 4.0' in page.code[1].value


def test_the_exported_json_is_the_command_lines():
    query = VectorQuery(Privacy(0.5, 1e-6), parse_profile("1,2,3"))
    assert json.loads(json.dumps(report(query, list(work.closed(query))), allow_nan=False))[0]["key"] == "gaussian-iid"


def test_charts_draw_what_they_are_given():
    query = VectorQuery(Privacy(0.5, 1e-6), parse_profile("1,2,3"))
    found = work.closed(query)
    figure = charts.errors(found, query, LIGHT)
    drawn = sorted(figure.data[0].x)
    assert drawn == sorted(one.error for one in charts.distinct(found))
    assert VECTOR.read({})[1] == {}


# One ℓ2 bound ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [(1.0, 1.0, 1.0), (0.1, 0.5, 2.0), (3.0, 0.0, 1.0)])
def test_the_isotropic_law_is_private_for_the_scaled_query(values):
    """Its sensitivity covers all differences in the box, scaled; what it pays is that problem's loss."""
    from pages.vector_queries.euclidean import as_isotropic, link

    query = VectorQuery(Privacy(1.0, 1e-3), SensitivityProfile(values))
    problem = as_isotropic(query)
    lam = np.array([v for v in values if v > 0])
    needed = math.sqrt((lam**2 / lam).sum())  # of d/√λ over |d_i| ≤ λ_i
    assert problem.dimension == len(lam)
    assert problem.sensitivity**2 * problem.dimension >= lam.sum() * needed**2
    assert problem.sensitivity == pytest.approx(lam.sum() / math.sqrt(len(lam)), rel=1e-8)
    assert f"dimension={len(lam)}" in link(problem)
    bounded = as_isotropic(VectorQuery(Privacy(1.0, 1e-3), SensitivityProfile(values), l2=max(values)))
    assert bounded.sensitivity <= max(values) * (1 + 1e-8)
    assert as_isotropic(VectorQuery(Privacy(1.0, 0.0), SensitivityProfile(values))) is None
    assert as_isotropic(VectorQuery(Privacy(1.0, 1e-3), SensitivityProfile(values), 1.0)) is None


def test_the_page_points_to_vectors_in_d_dimensions():
    page = until(visit(shape="uniform", dimension="3", epsilon="4"), "a law for them with a mean squared error")
    assert "Vectors in d dimensions](isotropic?dimension=3" in words(page)
