"""The fields of every kind of problem, once: what they are called, what they hold, how files and options have them.

A list serves the options and tables of the command line, the JSON files and scripts, and the controls and messages of
the pages. A field's name is that of the argument of the function that makes the problem, and of the key in a file.
"""

from . import dependent, noise, program, radial, vector
from .field import Field, Fields, finite, from_dict, titles, to_dict

LISTS: dict[str, Fields] = {
    "solve": noise.FIELDS,
    "data-dependent": dependent.FIELDS,
    "profile": vector.FIELDS,
    "isotropic": radial.FIELDS,
    "private-lp": program.FIELDS,
}
"""Command → the fields of its problem."""

__all__ = ["LISTS", "Field", "Fields", "finite", "from_dict", "titles", "to_dict"]
