"""Hostile texts, addresses and files: fixed ones that broke somebody's program once, and a seeded stream of more."""

from __future__ import annotations

import copy
import json
import random
import string
from collections.abc import Iterator
from typing import Any

NUMBERS = [
    "nan", "NaN", "-nan", "inf", "-inf", "Infinity", "1e308", "-1e308", "1e309", "1e-308", "5e-324", "-0", "0", "-1",
    "1" * 400, "0." + "0" * 400 + "1", "1e99999999999", "0x10", "1_000", "１２", "٣", "1,5", " 1 ", "+1", "1e", "--1",
    "1/3", "True", "None", "null", "\x00", "1\x00", "\ufeff1", "1\n2", "", " ", "9" * 5000,
]  # fmt: skip

TEXTS = [
    "<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "</script><svg onload=alert(1)>", "&lt;b&gt;",
    "[x](javascript:alert(1))", "![x](http://192.0.2.1/x.png)", "<a href='http://192.0.2.1'>x</a>", "$\\frac{1}{0}$",
    "$$\\def\\x{\\x}\\x$$", ":material/bolt:", ":red[x]", ":streamlit:", "**x**", "`x`", "# x", "| a | b |", "\\",
    "=cmd|'/c calc'!A0", "=HYPERLINK(\"http://192.0.2.1\")", "+1+1", "-2+3+cmd", "@SUM(1)", "\t=1", "\r=1", "%0a=1",
    "../../../../etc/passwd", "..\\..\\x", "/etc/passwd", "file:///etc/passwd", "C:\\x", "NUL", "con.csv", ".",
    "{0.__class__}", "{{7*7}}", "${7*7}", "%s%n%x", "%(x)s", "'; DROP TABLE x; --", "\" or 1=1", "__import__('os')",
    "\ud7ff", "\u202e", "\u200b", "e\u0301" * 50, "\ufffd", "\U0001f600" * 40, "\x1b[31m", "\x7f", "a" * 10_000,
    "l1", "table:", "table:" + "0=0," * 3000, "lp:nan", "huber:-1", "exceed:", "asym:1", "asym:1:2:3", "pinball:2",
]  # fmt: skip

MARKUP = [
    "![q](//192.0.2.1/q)", "[q](javascript:q)", "<img src=x onerror=q>", "<a href=//192.0.2.1>q", "$q^2_1$",
    ":material/bolt:", ":red[q]", "**q**", "`q`", "<b>q</b>", "~~q~~", "https://192.0.2.1/q",
]  # fmt: skip
"""Short enough for a label, and each would be seen as something else than its text."""

ALPHABET = string.printable + "«×−≤∞ε\x00\u202e\U0001f600"


def random_text(rng: random.Random, longest: int = 60) -> str:
    return "".join(rng.choice(ALPHABET) for _ in range(rng.randrange(longest)))


def value(rng: random.Random, plausible: list[str]) -> str:
    """A parameter's value: plausible, a hostile number, a hostile text or noise."""
    kind = rng.random()
    if kind < 0.35 and plausible:
        return rng.choice(plausible)
    if kind < 0.65:
        return rng.choice(NUMBERS)
    if kind < 0.85:
        return rng.choice(TEXTS)
    return random_text(rng)


def address(rng: random.Random, known: dict[str, list[str]]) -> dict[str, str | list[str]]:
    """Query parameters: some of the page's own, some of nobody's, some several times."""
    keys = rng.sample(sorted(known), k=min(len(known), rng.choice([1, 1, 2, 3, 5, 12])))
    query: dict[str, str | list[str]] = {key: value(rng, known[key]) for key in keys}
    if rng.random() < 0.2:
        query[random_text(rng, 20) or "x"] = value(rng, [])
    if rng.random() < 0.1 and keys:
        query[keys[0]] = [value(rng, known[keys[0]]) for _ in range(rng.randrange(2, 5))]
    return query


# Files -----------------------------------------------------------------------------------------------

LEAVES: list[Any] = [
    None, True, False, 0, -1, 1, 0.5, 1e308, -1e308, 1e-320, 2**62, 2**63, -(2**63), 10**30, 10**4000, float("nan"),
    float("inf"), float("-inf"), "", "0", "1e5", "９", "-", "x" * 100_000, "\x00", "l1", "table:0=0", [], {}, [[]],
    [1] * 300_000, [[0, 0]] * 3, {"x": [0, 1], "y": [0, 1]}, {"a": {"a": {"a": {}}}}, *TEXTS[:12],
]  # fmt: skip


def broken(rng: random.Random, whole: dict) -> Iterator[bytes]:
    """Files that resemble a good one, without end."""
    while True:
        data = copy.deepcopy(whole)
        for _ in range(rng.choice([1, 1, 1, 2, 4])):
            _break(rng, data)
        text = json.dumps(data)
        if rng.random() < 0.15:
            text = text[: rng.randrange(len(text) + 1)]
        if rng.random() < 0.15:
            at = rng.randrange(len(text) + 1)
            text = text[:at] + random_text(rng, 8) + text[at:]
        if rng.random() < 0.1:
            text = '{"epsilon": 1, "epsilon": "2", ' + text[1:]
        raw = text.encode(rng.choice(["utf-8"] * 6 + ["utf-8-sig", "utf-16", "utf-32", "latin-1"]), "replace")
        if rng.random() < 0.1:
            raw = bytes(b ^ (1 << rng.randrange(8)) if rng.random() < 0.003 else b for b in raw)
        yield raw


def _break(rng: random.Random, data: Any) -> None:
    """Change one place, in place."""
    while True:
        keys = list(data) if isinstance(data, dict) else list(range(len(data)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(data[key], dict | list) and data[key] and rng.random() < 0.75:
            data = data[key]
            continue
        change = rng.random()
        if change < 0.2 and isinstance(data, dict):
            del data[key]
        elif change < 0.3 and isinstance(data, list):
            data.append(data[key])
        elif change < 0.5 and isinstance(data[key], int | float) and not isinstance(data[key], bool):
            data[key] = data[key] * rng.choice([-1, 2, 0.5, 1e10, 1 + 1e-9, 1.0])
        else:
            data[key] = rng.choice(LEAVES)
        return


RAW = [
    b"", b" ", b"\x00", b"\xef\xbb\xbf", b"\xef\xbb\xbf{}", b"\xff\xfe", b"\xff\xfe{\x00}\x00", b"null", b"0", b"[]",
    b"{}", b'"x"', b"NaN", b"[NaN]", b"Infinity", b"1e400", b"[" * 200_000, b'{"a":' * 200_000, b"9" * 100_000,
    b'{"epsilon":' + b"9" * 10_000 + b"}", b'{"format": 99999999999999999999}', b'{"noise": {"noise": {"noise": []}}}',
    b"{'epsilon': 1}", b"{epsilon: 1}", b"# comment", b"PK\x03\x04" + b"\x00" * 100, b"\x80\x04\x95", b"%PDF-1.4",
    b"<html>", b"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>", b"GIF89a", bytes(range(256)) * 4,
]  # fmt: skip
"""Whole files; two of them are no text, one is a pickle's beginning."""

TABLES = [
    "", ",", "0,0", "0,0\n0,0", "1,1\n0,0", "nan,0\n1,1", "0,nan\n1,1", "inf,0\n1,1", "0,inf\n1,1", "1e308,0\n2e308,1",
    "-1e308,1e308\n1e308,1e308", "0,-1\n1,1", "a,b\nc,d", "x,y\n0,0\n1,1", "0;0\n1;1", "0\t0\n1\t1", "0 0\n1 1",
    '"0","0"\n"1","1"', '"0,0\n1,1', "0,0,0\n1,1,1", "0,0\r\n1,1\r\n", "\ufeff0,0\n1,1", "0,0\x00\n1,1", "0=0,1=1", "#",
    "[[0,0],[1,1]]", "[[0,0],[1]]", "[[0,true],[1,1]]", '[["0","0"],["1","1"]]', '{"x":[0,1],"y":[0,1]}', '{"x":0}',
    "[" * 100_000, "{" * 100_000, "[[1e400,0],[1,1]]", "[[NaN,0],[1,1]]", f"[[{'9' * 5000},0],[1,1]]", "1_0,0\n20,1",
    "=1+1,0\n1,1", "0,0\n" * 2000, "9" * 10_000 + ",0\n1,1", "١,0\n٢,1", "0,0\n1,1\n" + "\n" * 100_000,
    ",".join(["0"] * 100_000), "\n".join(f"{i},{abs(i - 500)}" for i in range(1000)), "0,0\n1e-320,1",
    "0,0\n5e-324,1e300",
]  # fmt: skip
