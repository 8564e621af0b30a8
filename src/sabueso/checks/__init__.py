"""All checks, found by walking the folders and the entry points; holds no list."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from ..catalogue import Check

GROUP = "sabueso.checks"
broken: dict[str, str] = {}  # modules of checks that could not be loaded, and why


@cache
def catalogue() -> dict[str, Check]:
    """Every check by name, sorted: ours (one a file under the stage folders) and those of the entry point group `sabueso.checks`."""
    found: dict[str, Check] = {}
    for folder in sorted(os.listdir(__path__[0])):
        if os.path.isdir(os.path.join(__path__[0], folder)) and not folder.startswith("_"):
            for file in sorted(os.listdir(os.path.join(__path__[0], folder))):
                if file.endswith(".py") and not file.startswith("_"):
                    name = f"{__name__}.{folder}.{file[:-3]}"
                    collect(name, lambda name=name: importlib.import_module(name), found)
    for point in plugins():
        collect(point.value, point.load, found)
    return dict(sorted(found.items()))


def plugins() -> Iterable[Any]:
    """The entry points of others' checks. The library that reads metadata costs more than all checks of ours: it is loaded where a file names the group."""
    for path in sys.path:
        if os.path.isfile(path):  # an archive
            break
        try:
            held = [os.path.join(path, name, "entry_points.txt") for name in os.listdir(path or ".") if name.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
        if any(_names_group(file) for file in held):
            break
    else:
        return ()
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


def _names_group(file: str) -> bool:
    try:
        with open(file, encoding="utf-8", errors="replace") as text:
            return GROUP in text.read()
    except OSError:
        return False


def collect(name: str, load: Callable[[], object], found: dict[str, Check]) -> None:
    """Take the checks that a module defines; one that can't be loaded keeps the others from nothing."""
    try:
        module = load()
    except Exception as error:
        broken[name] = f"{type(error).__name__}: {error}"
        return
    checks = [module] if isinstance(module, Check) else vars(module).values()
    found.update({c.name: c for c in checks if isinstance(c, Check)})
