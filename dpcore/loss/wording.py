"""What a loss is called in units, on axes and in sentences: the phrases of its family with its numbers filled in."""

from __future__ import annotations

from ..numerals import SUPERSCRIPTS, axis, plain
from .base import Loss
from .families import family_of


def loss_unit(loss: Loss, unit: str) -> str:
    """The unit of the expected loss, given that of the query."""
    power = family_of(loss).unit_power(loss)
    if not unit or power is None:
        return ""
    if power == 1:
        return unit
    whole = unit if unit.isalpha() or len(unit) == 1 else f"({unit})"  # (€/m²)², not €/m²²
    return whole + f"{power:g}".translate(SUPERSCRIPTS)


def loss_axis(loss: Loss, unit: str) -> str:
    """Title of an axis of expected losses."""
    return axis(_filled(family_of(loss).mean, loss, unit), loss_unit(loss, unit))


def loss_name(loss: Loss, unit: str) -> str:
    """What better noise has less of, as in "pinball loss"."""
    return _filled(family_of(loss).name, loss, unit)


def loss_with_numbers(loss: Loss) -> str:
    """The expected loss with what tells it from others of its family, as in "mean Huber loss (1)"; fit for a cell of a
    table."""
    return _filled(family_of(loss).limited, loss, "")


def errs(loss: Loss, unit: str) -> tuple[str, str]:
    """(verb, tail) around a figure: "errs by" 0.56 "people on average"."""
    family = family_of(loss)
    tail = _filled(family.tail or "", loss, unit)
    return _filled(family.verb, loss, unit), " ".join(filter(None, [loss_unit(loss, unit), tail]))


def _filled(phrase: str, loss: Loss, unit: str) -> str:
    """A phrase with the numbers of a loss and the unit of the query in it."""
    numbers = dict(zip((p.name for p in family_of(loss).parameters), loss.numbers))
    raised = {f"{name}_raised": f"{number:g}".translate(SUPERSCRIPTS) for name, number in numbers.items()}
    shown = {name: plain(number) for name, number in numbers.items()}
    return phrase.format(unit=f" {unit}" if unit else "", **shown, **raised)
