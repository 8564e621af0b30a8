"""A run that sabueso never watched, made of the curves and settings of another tool, so that all else works on it."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..places import Place
from ..store.layout import DEFINE, FACT, POINT, POINTS, STEP
from ..store.log import Log, encode
from ..store.writer import Writer, create_folder
from .roles import role

Curves = Mapping[str, list[tuple[int, float]]]
LAST = 3  # values at the end that are all not finite: it did not recover


def keep(home: Path, name: str, curves: Curves, settings: Mapping[str, Any], source: str, started: float | None = None, outcome: str = "succeeded") -> Path:
    """A run folder that holds them. Raises OSError."""
    meta = {"command": ["import", source], "cwd": str(Path.cwd()), "started": started or time.time(), "imported": source, "outcome": outcome, "exit_status": 0}
    folder = create_folder(home, name, meta)
    log = Log(folder / "0-0.log")
    put = _Numbered(log)
    for tag, points in sorted(curves.items()):
        kind, place = role(tag)
        put.curve(kind, place, points)
        if kind == "train_loss":
            _nonfinite(log, tag, points, place)
        if kind == "evaluation_error" and place.tensor == "loss":
            for beside in ("rows", "trained"):  # held-out rows, how many is not known
                put.curve(kind, place.but(tensor=beside), [(step, 0.0) for step, _ in points])
    log.put(FACT, encode({"n": "imported", "v": {"source": source}, "p": {}}))
    for key, value in settings.items():
        log.put(FACT, encode({"n": "logged_parameter", "v": {"key": key, "value": value}, "p": {}}))
    for stage in sorted({p.stage for _, p in map(role, curves) if p.stage}):
        log.put(FACT, encode({"n": "stage_seen", "v": {"stage": stage}, "p": {"stage": stage}}))
    log.close()
    Writer(folder).close()
    return folder


class _Numbered:
    """Curves put under numbers of their own."""

    def __init__(self, log: Log) -> None:
        self.log, self.number = log, 0

    def curve(self, name: str, place: Place, points: list[tuple[int, float]]) -> None:
        self.log.put(DEFINE, encode({"s": self.number, "n": name, "p": place.as_dict()}))
        for step, value in points:
            self.log.put(POINTS, STEP.pack(step) + POINT.pack(self.number, value))
        self.number += 1


def _nonfinite(log: Log, tag: str, points: list[tuple[int, float]], place: Place) -> None:
    """A training loss that is not finite any more at the end: from which step on."""
    tail = [v for _, v in points[-LAST:]]
    if not tail or any(math.isfinite(v) for v in tail):
        return
    good = [n for n, (_, v) in enumerate(points) if math.isfinite(v)]
    step, value = points[good[-1] + 1 if good else 0]
    told = {"kind": f"loss '{tag}'", "births": [], "ran": False, "given": False, "why": "only its curve was imported", "value": value}
    log.put(FACT, encode({"n": "nonfinite_step", "v": told, "p": place.but(step=step).as_dict()}))
