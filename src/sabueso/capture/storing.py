"""Storing: what a stored object holds that it will need again: models and what they learnt from, classes of the person's own modules."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from .numbering import renumbered
from .origin import is_users
from .recorder import Recorder

DEEP = 6
MOST = 3000  # objects looked into


class Stored:
    """What was stored where in this run, so that what is loaded again is known."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.models: dict[Any, dict[str, Any]] = {}

    @property
    def flow(self) -> Any:
        """What models learnt from; None in a program that has used none. (Not imported here: this module is loaded before NumPy is.)"""
        return self.recorder.shared.get("flow")

    @classmethod
    def of(cls, recorder: Recorder) -> Stored:
        """The one of this process."""
        held = recorder.shared.get("stored")
        if held is None:
            held = recorder.shared["stored"] = cls(recorder)
        return held

    def dumped(self, value: Any, key: Any, path: str) -> None:
        """An object was written."""
        flow = self.flow
        found = {where: m for where, x in walk(value) if (m := flow.model(x, make=False)) is not None} if flow is not None else {}
        if found:
            self.models[key] = found
        codes = renumbered(value)
        if codes is not None:
            self.recorder.fact("label_codes", {**codes, "how": "stored"}, stage="deploy")
        if "numpy" in sys.modules and self.recorder.wants("integers_wrapped"):
            importlib.import_module("sabueso.capture.wrapped").look(self.recorder, value)
        own = own_classes(value)
        self.recorder.fact("stored", {"path": path, "own": own, "models": [m.cls for m in found.values()]})

    def loaded(self, value: Any, key: Any, path: str) -> None:
        """An object was read: its models are those that were written, with what they learnt from."""
        known = self.models.get(key, {}) if self.flow is not None else {}
        for where, x in walk(value):
            model = known.get(where)
            if model is not None and self.flow.model(x, make=False) is None:
                self.flow.adopt_copy(x, model, path)


def walk(value: Any, where: str = "", deep: int = 4) -> Iterator[tuple[str, Any]]:
    """An object and what it holds, by its path within."""
    yield where, value
    if deep == 0:
        return
    if isinstance(value, dict):
        for k, v in list(value.items())[:60]:
            yield from walk(v, f"{where}/{k}", deep - 1)
    elif isinstance(value, (list, tuple)):
        for i, v in enumerate(value[:60]):
            yield from walk(v, f"{where}/{i}", deep - 1)
    elif hasattr(value, "__dict__") and not isinstance(value, type) and type(value).__module__ not in ("numpy", "builtins"):
        for k, v in list(vars(value).items())[:60]:
            if not isinstance(v, (str, int, float, bool, type(None))):
                yield from walk(v, f"{where}.{k}", deep - 1)


def own_classes(value: Any) -> list[dict[str, str]]:
    """Classes and functions of the person's own modules that an object refers to: without those modules it can't be read."""
    found: dict[str, dict[str, str]] = {}
    seen: set[int] = set()
    todo: list[tuple[Any, int]] = [(value, 0)]
    while todo and len(seen) < MOST:
        x, deep = todo.pop()
        if id(x) in seen or isinstance(x, (str, int, float, bytes, type(None))):
            continue
        seen.add(id(x))
        cls = x if isinstance(x, type) or callable(x) and hasattr(x, "__qualname__") else type(x)
        module = sys.modules.get(getattr(cls, "__module__", "") or "")
        file = getattr(module, "__file__", None)
        if file and is_users(file):
            found.setdefault(cls.__module__, {"module": cls.__module__, "class": cls.__qualname__, "file": file})
        if deep < DEEP:
            todo += [(v, deep + 1) for v in _parts(x)]
    return list(found.values())


def _parts(x: Any) -> list[Any]:
    if isinstance(x, dict):
        return list(x.values())[:200]
    if isinstance(x, (list, tuple, set)):
        return list(x)[:200]
    return list(vars(x).values())[:200] if hasattr(x, "__dict__") and not isinstance(x, type) and not callable(x) else []


def name_of(file: Any) -> str:
    """The path of a file name or an open file; empty for a stream without one."""
    name = file if isinstance(file, str) or hasattr(file, "__fspath__") else getattr(file, "name", "")
    try:
        return os.path.abspath(os.fspath(name)) if name else ""
    except TypeError:
        return ""
