"""Missed weights: a state dictionary was loaded without `strict`, and hardly a name of it is one of the module's."""

from __future__ import annotations

import weakref
from collections import Counter
from typing import Any

import torch

from .lines import Line, here
from .modules import Modules, sample
from .watch import Watch

PART = "missed"
MOST = 20
DEEPEST = 3  # names that a wrapper may have put before the others


class Miss:
    """One load that brought next to nothing."""

    def __init__(self, module: Any, told: dict[str, Any], step: int, line: Line | None) -> None:
        self.ref, self.told, self.step, self.line = weakref.ref(module), told, step, line
        self.parts = {id(m) for m in module.modules()}
        self.values, self.seen = values(module), False


class Missed:
    """Loads that missed, until another one or the program itself puts the weights in."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.modules: Modules = watch.parts["modules"]
        self.held: list[Miss] = []

    def loaded(self, _: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """load_state_dict returned: what it says of the names."""
        module, state = args[0], args[1] if len(args) > 1 else kwargs.get("state_dict")
        missing, unexpected = getattr(result, "missing_keys", None), getattr(result, "unexpected_keys", None)
        if missing is None or unexpected is None or not hasattr(state, "__len__"):
            return
        taken, parts = len(state) - len(unexpected), {id(m) for m in module.modules()}
        twins = renamed(missing, unexpected)
        if taken and sum(twins.values()) <= taken or not missing or not unexpected:
            if taken:
                self.held = [m for m in self.held if m.parts.isdisjoint(parts)]
        elif len(self.held) < MOST:
            graph, prefix = self.watch.parts.get("graph"), twins.most_common(1)[0][0] if twins else None
            told = {"module": self.modules.label(module), "keys": len(state), "taken": taken, "missing": len(missing), "prefix": prefix,
                    "stored": str(unexpected[0]), "wanted": str(missing[0]), "trained": graph.trained_steps(module) if graph else 0}  # fmt: skip
            self.held.append(Miss(module, told, self.watch.step, here()))
            self.watch.at_next("before_step", PART, self.look)

    def look(self, *_: Any) -> None:
        """Before the next step of an optimizer, or at the end where there is none: what was written by hand since then is no miss."""
        self.held = [m for m in self.held if m.seen or (module := m.ref()) is None or m.values == values(module)]
        for miss in self.held:
            miss.seen = True

    def last_words(self) -> None:
        """The fact `weights_missed` of each whose weights came from nowhere else."""
        self.look()
        for miss in self.held:
            where = miss.line.place if miss.line else {}
            self.recorder.fact("weights_missed", miss.told, step=miss.step, module=miss.told["module"], **where)


def values(module: Any) -> list[Any]:
    """Some of a module's numbers."""
    return [sample(p) for p in list(module.parameters())[:20]]


def renamed(missing: list[str], unexpected: list[str]) -> Counter[str]:
    """Names that are the module's but for what a wrapper put before them: how many, by that prefix (`-prefix` where it is the module that has it)."""
    found: Counter[str] = Counter()
    for names, others, sign in ((unexpected, set(missing), ""), (missing, set(unexpected), "-")):
        for name in names:
            parts = str(name).split(".")
            cut = next((n for n in range(1, min(DEEPEST + 1, len(parts))) if ".".join(parts[n:]) in others), 0)
            if cut:
                found[sign + ".".join(parts[:cut]) + "."] += 1
    return found


def install(watch: Watch) -> None:
    """Hang on what load_state_dict returns."""
    if not watch.recorder.wants("weights_missed"):
        return
    missed = Missed(watch)
    watch.around(PART, torch.nn.Module, "load_state_dict", None, missed.loaded)
    watch.recorder.at_exit(missed.last_words)
