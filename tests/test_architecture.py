"""Imports go one way, expensive libraries stay behind their doors, nothing of one machine is left in the tree."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

BASE = {"errors", "extras", "numbers", "_validate", "search"}
DATA = BASE | {"quantity", "places", "privacy", "privacy_profile", "loss", "problem", "partition"}
LAWS = DATA | {"pair", "audit", "audit_composed", "audit_profile", "audit_shape", "noise", "solution"}
FILES = LAWS | {"json_checks", "problem_fields"}
SEARCH = LAWS | {"kernels", "lp", "rows", "cutting_planes", "reference", "optimal"}

ALLOWED = {
    "errors": set(),
    "numbers": {"errors"},
    "_validate": {"errors", "numbers"},
    "extras": {"errors"},
    "provenance": set(),
    "search": set(),
    "rounded": {"exact"},
    "privacy": BASE | {"quantity"},
    "privacy_profile": BASE | {"privacy", "quantity"},
    "quantity": BASE,
    "loss": BASE | {"numerals", "places", "quantity"},
    "partition": BASE,
    "numerals": set(),
    "places": BASE,
    "problem": DATA,
    "noise": DATA | {"exact", "kernels", "json_checks", "pair", "rounded", "script"},
    "pair": BASE,
    "audit": DATA | {"noise", "rows"},  # the referee: no kernel, no linear program
    "audit_shape": DATA | {"audit", "noise"},
    "audit_profile": DATA | {"audit", "audit_composed", "noise"},
    "audit_composed": DATA | {"audit", "noise", "accounting"},
    "solution": LAWS | {"display"},
    "kernels": set(),
    "lp": {"errors"},
    "rows": {"errors", "kernels", "loss", "lp"},
    "cutting_planes": SEARCH - {"optimal", "reference"},
    "reference": SEARCH - {"optimal"},
    "optimal": SEARCH | {"accounting"},
    "isotropic": SEARCH | FILES | {"accounting", "export", "reload", "rounded", "script"},
    "mechanisms": LAWS,
    "literature": DATA | {"audit", "noise"},
    "accounting": LAWS | {"mechanisms"},
    "vector": SEARCH | FILES | {"accounting", "exact", "rounded", "script"},
    "gallery": LAWS | {"reference"},
    "exact": set(),
    "figures": LAWS | {"mechanisms", "numerals"},
    "json_checks": {"errors"},
    "problem_fields": DATA | {"json_checks"},
    "reload": FILES,
    "script": set(),
    "snippet": FILES | {"exact", "reload", "script"},
    "export": FILES | {"reload", "snippet"},
    "store": LAWS | {"export", "isotropic", "provenance", "reload"},
    "sweeps": FILES | {"optimal", "mechanisms", "provenance", "store"},
    "inversion": LAWS | {"optimal", "mechanisms"},
    "plan": SEARCH | FILES | {"accounting", "mechanisms", "inversion", "exact", "numerals", "script"},
    "learning": SEARCH | {"accounting", "mechanisms", "plan", "vector", "data_dependent", "isotropic"},
    "integrations": LAWS,
    "private_optimization": FILES | {"lp", "rows", "optimal", "exact"},
    "data_dependent": SEARCH | FILES | {"exact", "export", "reload", "script", "snippet"},
    "cli": (
        FILES
        | {"optimal", "vector", "isotropic", "data_dependent", "private_optimization", "mechanisms", "exact"}
        | {"comparison", "export", "sweeps", "store", "inversion", "accounting", "reload", "plan", "learning"}
    ),
    "display": LAWS | {"figures", "mechanisms", "numerals"},
    "comparison": FILES | {"figures", "mechanisms", "numerals"},
    "interface": FILES | {"optimal", "comparison", "sweeps", "inversion", "accounting", "exact", "export", "reload"},
    "__main__": {"alone", "cli"},
    "__init__": set(),
}
ABOVE = {"pages", "app", "server"}
ONLY_IN = {
    "clarabel": "dpcore/private_optimization/interior.py", "duckdb": "dpcore/plan/source.py",
    "flint": "dpcore/isotropic/balls.py", "fsspec": "dpcore/plan/held.py",
    "numba": "dpcore/kernels/", "highspy": "dpcore/lp.py",
    "plotly": ("pages/", "dpcore/figures/"), "prometheus_client": "service/",
    "streamlit": ("app.py", "server.py", "pages/", "service/"), "starlette": ("app.py", "server.py", "service/"),
}  # fmt: skip


def imports(path: Path) -> set[str]:
    """Absolute names of all modules a file imports when it runs, at the top or inside functions."""
    tree, names = ast.parse(path.read_text()), set()
    typing_only = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.dump(branch.test)
        for child in branch.body
        for node in ast.walk(child)
    }
    package = path.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parent = list(package[: len(package) - node.level]) if node.level else []
            names |= {".".join([*parent, node.module or alias.name]) for alias in node.names}
    return names


def module_of(path: Path) -> str:
    """The name by which a file is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def runtime_imports(tree: ast.AST, path: Path, files: set[str]) -> set[str]:
    """Those of `files`, modules by their names, that a file imports when it runs: at the top, inside functions or by
    `import_module` of a literal. `from package import name` is the module of that name where there is one, else the
    package."""
    exempt = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.dump(branch.test)
        for child in branch.body
        for node in ast.walk(child)
    }
    package, found = path.relative_to(ROOT).with_suffix("").parts, set()
    for node in ast.walk(tree):
        if id(node) in exempt:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package[: len(package) - node.level] if node.level else ()
            base = ".".join([*parents, *filter(None, [node.module])])
            found |= {name if (name := f"{base}.{alias.name}") in files else base for alias in node.names}
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            if getattr(node.func, "attr", getattr(node.func, "id", "")) in ("import_module", "__import__"):
                name = str(node.args[0].value)
                depth = len(name) - len(name.lstrip("."))
                found.add(".".join([*package[: len(package) - depth], name[depth:]]) if depth else name)
    return (found & files) - {module_of(path)}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Closed walks through `graph`, one for every edge back to where a walk comes from."""
    found, done, walk = [], set(), []

    def visit(module: str) -> None:
        walk.append(module)
        for other in sorted(graph[module]):
            if other in walk:
                found.append([*walk[walk.index(other) :], other])
            elif other not in done:
                visit(other)
        done.add(walk.pop())

    for module in sorted(graph):
        if module not in done:
            visit(module)
    return found


SOURCES = sorted(
    [ROOT / "app.py", ROOT / "server.py"]
    + [path for name in ("dpcore", "pages", "service", "work") for path in (ROOT / name).rglob("*.py")]
)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_follow_the_allowed_edges(path):
    where = path.relative_to(ROOT).as_posix()
    for name in imports(path):
        top, *rest = name.split(".")
        if top in ONLY_IN:
            assert where.startswith(ONLY_IN[top]), f"{where} imports {name}"
        assert name != "scipy.stats", f"{where}: scipy.stats costs 1.5 s"
        if where.startswith("dpcore/"):
            assert top not in ABOVE | {"pandas", "service", "work", "tests"}, f"{where} imports {name}"
            module = path.relative_to(ROOT / "dpcore").parts[0].removesuffix(".py")
            if top == "dpcore" and rest and rest[0] not in (module, "__version__"):
                assert rest[0] in ALLOWED[module], f"{where} imports {name}"
        elif where.startswith(("service/", "work/")):
            assert top not in ABOVE, f"{where} imports {name}"
            assert {top, where.split("/")[0]} != {"service", "work"}, f"{where} imports {name}"
        elif top == "dpcore" and rest:
            assert rest[0] not in ("kernels", "lp"), f"{where} imports {name}"


def test_no_files_import_each_other_in_a_circle():
    files = {module_of(path) for path in SOURCES}
    graph = {module_of(path): runtime_imports(ast.parse(path.read_text()), path, files) for path in SOURCES}
    assert circles(graph) == []


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("from . import audit", True),
        ("from .audit import delta_upper", True),
        ("def f():\n    from dpcore import audit", True),
        ("from importlib import import_module\nimport_module('dpcore.audit')", True),
        ("import importlib\nimportlib.import_module('.audit', __package__)", True),
        ("__import__('dpcore.audit')", True),
        ("if TYPE_CHECKING:\n    from .audit import delta_upper", False),
    ],
)
def test_the_test_sees_circles(line, seen):
    files, here = {"dpcore.audit", "dpcore.problem"}, ROOT / "dpcore" / "problem.py"
    graph = {"dpcore.problem": runtime_imports(ast.parse(line), here, files), "dpcore.audit": {"dpcore.problem"}}
    assert circles(graph) == ([["dpcore.audit", "dpcore.problem", "dpcore.audit"]] if seen else [])


def test_the_referee_of_rows_shares_nothing_with_the_program():
    found = imports(ROOT / "dpcore/rows/referee.py")
    assert not {name for name in found if name.startswith(("dpcore.lp", "dpcore.rows"))}


def test_the_test_sees_relative_imports():
    assert {"dpcore.loss", "dpcore.privacy"} <= imports(ROOT / "dpcore" / "problem.py")
    assert "dpcore.noise.base" in imports(ROOT / "dpcore" / "noise" / "piecewise.py")


@pytest.mark.parametrize("module", ["dpcore", "dpcore.cli", "dpcore.optimal", "dpcore.export", "dpcore.mechanisms"])
def test_imports_stay_light(module):
    heavy = ("scipy.stats", "scipy.optimize", "pandas", "streamlit", "plotly", "matplotlib")
    code = f"import sys, {module}; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_types_are_not_ignored_without_a_reason():
    """Where mypy looks; elsewhere there is nothing to ignore."""
    for path in SOURCES:
        for line in path.read_text(encoding="utf-8").splitlines():
            if "# type: ignore" in line:
                said = line.partition("# type: ignore")[2].partition("#")[2]
                assert said.strip() and path.is_relative_to(ROOT / "dpcore"), f"{path}: {line.strip()}"


LAW_NAMES = {
    node.name
    for path in ROOT.glob("dpcore/noise/*.py")
    for node in ast.parse(path.read_text(encoding="utf-8")).body
    if isinstance(node, ast.ClassDef)
} | {"Channel", "ClampedNoise", "NoiseLaws", "PowerLaw", "RadialNoise", "TruncatedLaw"}

QUESTIONS = {
    "dpcore/accounting/curves.py": 1, "dpcore/accounting/mechanisms.py": 2, "dpcore/accounting/pairs.py": 1,
    "dpcore/audit_profile.py": 1, "dpcore/display.py": 1, "dpcore/figures/densities.py": 1,
    # Files and scripts read and write each kind of mechanism in its own form.
    "dpcore/data_dependent/files.py": 5, "dpcore/data_dependent/script.py": 2, "dpcore/reload.py": 3,
    "dpcore/plan/script.py": 1,
    # A search that has found a law on cells goes on from its cells.
    "dpcore/data_dependent/noise_search.py": 1, "dpcore/data_dependent/search.py": 2,
    "dpcore/isotropic/coordinates.py": 1, "dpcore/optimal/additive.py": 6, "dpcore/optimal/composed.py": 1,
    "dpcore/optimal/groups.py": 1, "dpcore/optimal/profile.py": 1, "dpcore/private_optimization/noises.py": 1,
    "dpcore/private_optimization/release.py": 2, "dpcore/vector/joint.py": 3, "dpcore/vector/scalar_optima.py": 2,
    # An answer may be a mechanism of one kind or another.
    "dpcore/learning/bounded.py": 1, "dpcore/learning/vectors.py": 3, "dpcore/mechanisms.py": 2,
    "pages/data_dependent/charts.py": 2, "pages/data_dependent/headline.py": 2,
    "pages/optimal_noise/privacy_profile.py": 2, "pages/what_epsilon_means/laws.py": 1,
}  # fmt: skip
"""Where else than in `noise` it is asked of what class a law is, and how often; a law should speak for itself."""


def asked_for_laws(tree: ast.AST) -> int:
    """How often `isinstance` asks whether something is of a class of law."""
    return sum(
        bool(LAW_NAMES & {getattr(one, "id", getattr(one, "attr", "")) for one in ast.walk(node.args[1])})
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance"
    )


def test_nobody_else_begins_to_ask_what_a_law_is():
    sources = {path.relative_to(ROOT).as_posix(): path for path in SOURCES}
    found = {
        name: count
        for name, path in sources.items()
        if not name.startswith("dpcore/noise/") and (count := asked_for_laws(ast.parse(path.read_text())))
    }
    assert found == QUESTIONS, {name: (found.get(name), QUESTIONS.get(name)) for name in found.keys() | QUESTIONS}


@pytest.mark.parametrize("line", ["isinstance(law, Laplace)", "isinstance(x, noise.Gaussian | int)",
                                  "isinstance(x, (int, Staircase))"])  # fmt: skip
def test_the_test_sees_what_is_asked(line):
    assert asked_for_laws(ast.parse(line)) == 1 and not asked_for_laws(ast.parse("isinstance(x, int)"))


OTHER_CLOCKS = {
    "pages/lessons/motion.py": "asks for the states once the browser comes back, not while the page is drawn",
    "pages/optimal_noise/matters.py": "one problem after another, each asked for when the one before is done",
    "pages/optimal_noise/draws.py": "draws that fall one by one; no job",
    "pages/release_plan/upload.py": "a table that is read in this process; no job",
}
"""Where else than in `watching` something runs by itself, and why."""


def test_jobs_are_watched_in_one_place():
    clocks = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8").count("run_every=")
              for path in ROOT.glob("pages/**/*.py")}  # fmt: skip
    found = {path: count for path, count in clocks.items() if count}
    assert found == {"pages/shared/watching.py": 2} | dict.fromkeys(OTHER_CLOCKS, 1)


MOST_SHARED = 2300
"""Lines of Python that all pages share; what fewer than three pages use stands with one of those."""


def test_what_pages_share_stays_small():
    lines = {path.stem: len(path.read_text(encoding="utf-8").splitlines()) for path in ROOT.glob("pages/shared/*.py")}
    assert sum(lines.values()) < MOST_SHARED, lines


def test_names_say_what_things_are():
    vague = {"utils", "util", "common", "helpers", "manager", "misc"}
    assert not [p for p in SOURCES if vague & {*p.relative_to(ROOT).with_suffix("").parts}]


TEXTS = [
    path for path in SOURCES
    if re.search(r"^(pages|service|dpcore/cli)/|(files|sheets|points)\.py$", path.relative_to(ROOT).as_posix())
]  # fmt: skip
"""Modules that handle what people write."""


def own_readings(tree: ast.AST) -> list[int]:
    """Lines on which a text is made a number by other means than `dpcore.numbers`."""
    called = lambda node: isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("float", "int")  # noqa: E731
    found = []
    for node in ast.walk(tree):
        if called(node) and node.args:
            given = node.args[0]
            named = getattr(given, "id", "") in ("text", "word", "part", "cell", "line", "raw", "token", "item")
            wrong = named or getattr(getattr(given, "func", None), "attr", "") in ("strip", "group")
        elif isinstance(node, ast.Try):
            caught = any("ValueError" in ast.dump(one.type) for one in node.handlers if one.type)
            wrong = caught and any(called(inner) for line in node.body for inner in ast.walk(line))
        else:
            wrong = getattr(node, "attr", "") in ("number_input", "loadtxt", "genfromtxt", "fromstring")
        if wrong:
            found.append(node.lineno)
    return found


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_what_people_write_as_numbers_has_one_reader(path):
    """Python reads 1_000 and digits of other scripts, and the browser's number boxes swallow commas."""
    assert not own_readings(ast.parse(path.read_text()))


@pytest.mark.parametrize(
    "line",
    ["float(text)", "int(raw.strip())", "st.number_input('x')", "try:\n float(x)\nexcept ValueError:\n pass",
     "np.loadtxt(file)"],
)  # fmt: skip
def test_the_test_sees_other_readers(line):
    assert own_readings(ast.parse(line)) and not own_readings(ast.parse("float(x[0])"))


def test_nothing_of_one_machine_is_left():
    """No absolute paths of somebody's home, no notes to oneself."""
    marks = re.compile(r"/(?:root|home/\w+|Users/\w+|work/\w+)/|\b(?:TODO|FIX" + r"ME|XXX)\b")
    kinds = {".py", ".md", ".toml", ".txt", ".json", ".css", ".yml", ""}
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        hidden = any(part.startswith(".") and part not in (".ci", ".streamlit") for part in parts)
        if path.is_file() and path.suffix in kinds and not hidden and "artifacts" not in path.parts:
            found = marks.search(path.read_text(errors="replace"))
            assert not found or path == Path(__file__), f"{path.relative_to(ROOT)}: {found.group()}"


def test_what_computes_in_the_background_draws_nothing():
    names = ", ".join(f"pages.{path.parent.name}.work" for path in sorted(ROOT.glob("pages/*/work.py")))
    code = f"import sys, {names}; print([m for m in ('streamlit', 'plotly') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert names and done.stdout.strip() == "[]"


def assigned_twice(source):
    """Names of a module that two of its statements assign."""
    names = [
        name.id
        for node in ast.parse(source).body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for name in ast.walk(target)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    ]
    return {name for name in names if names.count(name) > 1}


@pytest.mark.parametrize("part", ["dpcore", "pages", "service", "work", "benchmarks", "tests"])
def test_no_constant_is_named_twice(part):
    """The second would take the place of the first, in functions above it, too."""
    found = {path: assigned_twice(path.read_text(encoding="utf-8")) for path in (ROOT / part).rglob("*.py")}
    assert found and not any(found.values()), {path: names for path, names in found.items() if names}


def test_the_test_sees_names_given_twice():
    assert assigned_twice("PLACES = 64\nPLACES, WORTH = 41, 0.9\n") == {"PLACES"}
    assert assigned_twice("A: int = 1\nB = A\n\ndef f():\n    A = B = 2\n") == set()


def test_no_two_test_files_share_a_name():
    """pytest imports them by their bare names, so the second of two would not be collected."""
    names = [path.name for path in (ROOT / "tests").rglob("*.py") if path.name != "conftest.py"]
    assert len(names) == len(set(names)), sorted({name for name in names if names.count(name) > 1})


def test_no_test_needs_a_thread_without_a_loop():
    """A browser's driver leaves one behind, so that what follows in the same process could not start another."""
    starts = re.compile(r"asyncio\.run\b(?!`)")  # in words it may stand
    found = [path for path in (ROOT / "tests").rglob("*.py") if starts.search(path.read_text(encoding="utf-8"))]
    assert [path.name for path in found] == ["running.py"]
