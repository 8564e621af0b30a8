"""Who may import whom, how large files may grow, and that `import sabueso` is cheap. Prints the largest files and functions."""

from __future__ import annotations

import ast
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sabueso

ROOT = Path(sabueso.__file__).parent
FILES = sorted(p for p in ROOT.rglob("*.py") if "hook" not in p.parts and "demo" not in p.parts)
NOUNS = {p.stem for p in ROOT.glob("*.py")} - {"__init__", "__main__", "cli", "wiring", "config", "pytest_plugin", "testing"}
MAY = {  # folder -> folders of ours that it may import, itself and the nouns besides
    "store": set(),
    "capture": {"store"},
    "adapters": {"capture"},
    "checks": set(),
    "diagnose": set(),
    "show": set(),
    "replay": {"capture", "store"},
    "data": {"capture", "adapters", "checks", "config", "show", "wiring"},
    "battery": {"capture"},
    "serve": {"store", "show"},
    "exchange": {"store"},
    "commands": {"data", "store", "show", "checks", "wiring", "config", "serve", "exchange", "replay"},
    "launch": {"capture", "store", "adapters", "checks", "config", "replay"},
}
LAZY = {  # documented cases of an import of ours inside a function
    "__init__.py": "names are looked up when they are first used",
    "cli.py": "numpy and the checks are loaded while the program runs",
    "adapters/__init__.py": "wakes an adapter with its library",
    "checks/__init__.py": "walks the folders",
    "launch/child.py": "what only a second run needs is loaded in that alone",
    "pytest_plugin.py": "costs nothing in a test run that is not watched",
    "wiring.py": "the battery is loaded when it is asked, not at the start of every run",
}
FORBIDDEN = {"torch", "pandas", "sklearn", "polars", "keras", "tensorflow", "jax", "xgboost", "lightgbm", "lightning", "scipy"}
MOST_CHECK, MOST_FILE, MOST_FUNCTION = 150, 400, 40


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(path: Path) -> Iterator[tuple[str, bool, bool]]:
    """(module of ours relative to the package or other module with a leading '!', inside a function, for types only)."""
    held = tree(path)
    inside = {id(n) for f in ast.walk(held) if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) for n in ast.walk(f)}
    typing = {id(n) for i in ast.walk(held) if isinstance(i, ast.If) and "TYPE_CHECKING" in ast.unparse(i.test) for n in ast.walk(i)}
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(held):
        where = id(node) in inside, id(node) in typing
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield "!" + alias.name, *where
        elif isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - (node.level - 1)]
            for alias in node.names:
                yield resolved([*base, *(node.module or "").split(".")], alias.name), *where
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "sabueso":
            for alias in node.names:
                yield resolved(node.module.split(".")[1:], alias.name), *where
        elif isinstance(node, ast.ImportFrom):
            yield "!" + (node.module or ""), *where


def resolved(parts: list[str], name: str) -> str:
    """`a.b` for `from .a import b` where b is a module, else `a`."""
    parts = [p for p in parts if p]
    deeper = ROOT.joinpath(*parts, name)
    return ".".join([*parts, name] if deeper.with_suffix(".py").exists() or (deeper / "__init__.py").exists() else parts)


def test_this_reads_imports() -> None:
    found = {m for m, _, _ in imports(ROOT / "wiring.py")}
    assert {"launch.child", "config", "catalogue", "!threading"} <= found


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_who_may_import_whom(path: Path) -> None:
    parts = path.relative_to(ROOT).parts
    for module, _, typing in imports(path):
        if typing:
            continue
        first = module.split(".")[0]
        if module.startswith("!"):
            assert first[1:] not in FORBIDDEN or parts[0] in ("adapters", "capture"), f"{name_of(path)} imports {module[1:]}"
            if parts[0] == "checks" and len(parts) == 3:
                assert first[1:] in ("numpy", *sys.stdlib_module_names) and first[1:] not in ("random", "time", "os", "pathlib"), module[1:]
        elif len(parts) == 1:
            assert parts[0][:-3] not in NOUNS or first in NOUNS or first == "", f"{name_of(path)} is a noun and imports {module}"
        else:
            allowed = NOUNS | MAY[parts[0]] | {parts[0], "_native", ""}
            assert first in allowed, f"{name_of(path)} may not import {module}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_lazy_import_of_ours(path: Path) -> None:
    lazy = [m for m, inside, _ in imports(path) if inside and not m.startswith("!")]
    assert not lazy or name_of(path) in LAZY, f"{name_of(path)} imports {lazy} inside a function"


@pytest.mark.parametrize("path", [p for p in FILES if p.relative_to(ROOT).parts[0] in ("adapters", "capture")], ids=name_of)
def test_frameworks_are_taken_from_sys_modules_or_inside_functions(path: Path) -> None:
    """Only an adapter, which is imported once its library is, may import it at its head."""
    heads = [m[1:].split(".")[0] for m, inside, typing in imports(path) if m.startswith("!") and not inside and not typing]
    assert path.relative_to(ROOT).parts[0] == "adapters" or not FORBIDDEN & set(heads), heads


def test_no_import_cycle() -> None:
    modules = {".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p for p in FILES}
    needs = {n: {m for m, inside, typing in imports(p) if not inside and not typing and m in modules and m != n} for n, p in modules.items()}
    needs.pop("__init__", None)
    while True:
        free = [n for n, held in needs.items() if not held & needs.keys()]
        if not free:
            break
        for n in free:
            del needs[n]
    assert not needs, f"in a cycle or behind one: {', '.join(sorted(needs))}"


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def functions(path: Path) -> Iterator[tuple[int, str]]:
    """(lines without the docstring, name) of each function."""
    for node in ast.walk(tree(path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            held = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
            yield (node.end_lineno or 0) - held[0].lineno + 1, f"{name_of(path)}:{node.name}"


def test_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = sorted(((lines(p), name_of(p)) for p in FILES), reverse=True)
    longest = sorted((f for p in FILES for f in functions(p)), reverse=True)
    with capsys.disabled():
        print("\nlargest files:", ", ".join(f"{n} {s}" for s, n in sizes[:5]))
        print("longest functions:", ", ".join(f"{n} {s}" for s, n in longest[:5]), f"; median {statistics.median(s for s, _ in longest):.0f}")
    limit = lambda name: MOST_CHECK if name.startswith("checks/") else MOST_FILE  # noqa: E731
    assert not [(n, s) for s, n in sizes if s > limit(n)]
    assert not [(n, s) for s, n in longest if s > MOST_FUNCTION]


def test_every_module_and_public_function_says_what_it_is() -> None:
    bare = [name_of(p) for p in FILES if p.read_text().strip() and not ast.get_docstring(tree(p))]
    assert not bare


def seconds(code: str) -> float:
    """CPU seconds of a fresh interpreter, the least of several."""
    taken = []
    for _ in range(7):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(taken)


def test_import_loads_no_framework_and_costs_little() -> None:
    code = "import sys, sabueso\nprint([m for m in ('numpy', 'torch', 'pandas', 'sklearn', 'click', 'psutil') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    assert seconds("import sabueso") - seconds("pass") < 0.08


def test_capture_wakes_without_numpy() -> None:
    """What is loaded into the person's program before its first line must be little."""
    code = "import sys, sabueso.launch.child\nprint([m for m in ('numpy', 'torch', 'click', 'psutil', 'sqlite3') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
