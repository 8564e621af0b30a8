"""Lines of the person's own source that made something: looked for only once a fault is known."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator

from .origin import is_users

MOST_FILES = 30
MOST_BYTES = 400_000


def sources(known: tuple[str | None, ...] = ()) -> Iterator[tuple[str, ast.Module]]:
    """(file, syntax tree) of the person's modules, the program itself first. At exit its module has no file any more: `known` are files of it."""
    files = [*known] + [getattr(sys.modules.get(name), "__file__", None) for name in ["__main__", *list(sys.modules)]]
    for file in list(dict.fromkeys(os.path.abspath(f) for f in files if f and f.endswith(".py") and is_users(f)))[:MOST_FILES]:
        try:
            if os.path.getsize(file) <= MOST_BYTES:
                with open(file, encoding="utf-8") as opened:
                    yield file, ast.parse(opened.read())
        except (OSError, SyntaxError, ValueError):
            continue


def assigned(name: str) -> tuple[str, int] | None:
    """Where a variable or attribute of that name is first given a value."""
    last = name.rpartition(".")[2].partition("[")[0]
    for file, tree in sources():
        found = []
        for node in ast.walk(tree):
            targets = node.targets if isinstance(node, ast.Assign) else []
            flat = [t for target in targets for t in (target.elts if isinstance(target, ast.Tuple) else [target])]
            if any(isinstance(t, ast.Name) and t.id == last or isinstance(t, ast.Attribute) and t.attr == last for t in flat):
                found.append(node.lineno)
        if found:
            return file, min(found)
    return None


PARAMETERS = ("parameters", "named_parameters", "buffers", "state_dict")
MOVES = ("shuffle", "permutation", "randperm", "permute", "sample", "choice", "sort_values", "argsort", "flip", "take", "compress", "roll", "drop", "dropna")


def moved(name: str) -> tuple[str, int] | None:
    """Where the rows of a variable or attribute of that name are last put into another order or picked: by an index, a mask, a call."""
    last = name.rpartition(".")[2].partition("[")[0]
    for file, tree in sources():
        found = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and any(
                last == own(t) for target in node.targets for t in (target.elts if isinstance(target, ast.Tuple) else [target])
            ):
                parts = list(ast.walk(node.value))
                index = any(isinstance(n, ast.Subscript) and not isinstance(n.slice, (ast.Slice, ast.Constant)) for n in parts)
                if index or any(isinstance(n, ast.Call) and called(n) in MOVES for n in parts):
                    found.append(node.lineno)
            elif isinstance(node, ast.Call) and called(node) == "shuffle" and any(own(a) == last for a in node.args):
                found.append(node.lineno)
        if found:
            return file, max(found)
    return None


def own(node: ast.expr) -> str:
    """The last name of a variable or attribute."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def mentions(words: tuple[str, ...]) -> bool:
    """Does the person's source hold any of these words?"""
    for file, _ in sources():
        with open(file, encoding="utf-8") as opened:
            text = opened.read()
        if any(w in text for w in words):
            return True
    return False


def cast(dtype: str, known: tuple[str | None, ...] = ()) -> tuple[str, int] | None:
    """The one line where values are cast to a type (`.astype(np.int16)`, `.astype("int16")`); None where there are several or none."""
    found = []
    for file, tree in sources(known):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and called(node) == "astype":
                given = [*node.args, *(k.value for k in node.keywords)]
                if any(own(a) == dtype or isinstance(a, ast.Constant) and a.value == dtype for a in given):
                    found.append((file, node.lineno))
    return found[0] if len(found) == 1 else None


def chosen() -> tuple[str, int] | None:
    """Where the largest along an axis is chosen; None where that is in no place, or in several."""
    found = [(file, node.lineno) for file, tree in sources() for node in ast.walk(tree) if isinstance(node, ast.Call) and called(node) == "argmax"]
    return found[0] if len(found) == 1 else None


def rebound(known: tuple[str | None, ...] = ()) -> tuple[str, int] | None:
    """Where a loop over parameters gives its own variable a new value, which writes nothing into what it stood for."""
    for file, tree in sources(known):
        for loop in ast.walk(tree):
            if isinstance(loop, ast.For) and any(isinstance(n, ast.Call) and called(n) in PARAMETERS for n in ast.walk(loop.iter)):
                names = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
                for node in ast.walk(loop):
                    if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id in names for t in node.targets):
                        return file, node.lineno
    return None


def listing() -> tuple[str, int] | None:
    """Where files are listed in the order of their names, without a key that reads numbers as numbers."""
    for file, tree in sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and called(node) in ("sorted", "sort") and not any(k.arg == "key" for k in node.keywords):
                if any(isinstance(n, ast.Call) and called(n) in ("glob", "rglob", "iglob", "listdir", "iterdir", "scandir", "walk") for n in ast.walk(node)):
                    return file, node.lineno
    for file, tree in sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and called(node) in ("glob", "rglob", "iglob", "listdir", "iterdir", "scandir", "sorted"):
                return file, node.lineno
    return None


def called(node: ast.Call) -> str:
    """The last name of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
