"""Turns: a model that learns bit by bit is given one class after the other, and answers the last."""

from __future__ import annotations

import time
import weakref
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .outputs import plain
from .recorder import Recorder
from .scores import label_text

BLOCK = 32  # rows: fewer are of one class by chance
MOST_ROWS, MOST_MODELS, MOST_CLASSES, MOST_SCORED = 200_000, 20, 60, 20_000
LEAST_BLOCKS, ANSWERS = 8, 20
ALONE, CHANCE = 0.5, 0.1  # share of the blocks that hold one class, and how many would if the same rows were shuffled
SECONDS = 0.2  # of CPU time for answers of our own
APART = 0.3  # total variation between what is answered and what was given


@dataclass(slots=True)
class Fed:
    """The labels that one model was given, in order, and what it answered after."""

    ref: Any
    model: str
    file: str | None
    line: int | None
    labels: list[np.ndarray] = field(default_factory=list)
    given: Counter[str] = field(default_factory=Counter)  # how often each of them
    rows: int = 0
    turns: int = 0
    harm: tuple[str, float, float] | None = None  # what, seen, expected


class Turns:
    """All such models of a program."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.held: dict[int, Fed] = {}
        self.spent = 0.0  # on answers that were scored and never shown
        recorder.at_exit(self.tell)

    def fed(self, owner: Any, y: Any, place: tuple[str | None, int | None]) -> None:
        """partial_fit is given these labels."""
        known = self.held.get(id(owner))
        if known is None or known.ref() is not owner:
            if len(self.held) >= MOST_MODELS:
                return
            known = self.held[id(owner)] = Fed(weakref.ref(owner), type(owner).__name__, *place)
        labels = plain(y) if y is not None else None
        known.turns, known.harm = known.turns + 1, None
        if labels is not None and labels.ndim == 1 and labels.dtype.kind in "iubUSO" and known.rows < MOST_ROWS:
            known.labels.append(np.array(labels))
            known.given += counted(labels)
            known.rows += len(labels)

    def judged(self, owner: Any, method: str, x: Any, result: Any) -> None:
        """It answers: as often as it was given each class, or one class nearly always? `t_`: it counts its updates, so their order matters."""
        known = self.held.get(id(owner))
        if known is None or known.ref() is not owner or not hasattr(owner, "t_") or known.harm is not None:
            return
        given = known.given
        if not 2 <= len(given) <= MOST_CLASSES:
            return
        if method == "score" and self.spent < SECONDS and type(owner).__module__.startswith("sklearn.") and getattr(x, "shape", (MOST_ROWS,))[0] <= MOST_SCORED:
            began = time.thread_time()
            result, method = owner.predict(x), "predict"
            self.spent += time.thread_time() - began
        answers = plain(result) if method == "predict" else None
        if answers is None or answers.ndim != 1 or len(answers) < ANSWERS:
            return
        said = counted(answers)
        apart = sum(abs(said[k] / len(answers) - given[k] / known.rows) for k in {*said, *given}) / 2
        most = max(said, key=lambda k: said[k] / len(answers) - given[k] / known.rows)
        if apart >= APART:
            known.harm = (f"share of answers that are {most!r}", said[most] / len(answers), given[most] / known.rows)

    def tell(self) -> None:
        """One fact for each model that came to harm."""
        for fed in self.held.values():
            told = ordered(np.concatenate([p.astype(str) for p in fed.labels])) if fed.harm is not None and fed.labels else None
            if told is not None and fed.harm is not None:
                harm = [fed.harm[0], round(fed.harm[1], 4), round(fed.harm[2], 4)]
                told |= {"how": "turns", "name": "partial_fit", "model": fed.model, "turns": fed.turns, "harm": harm, "judged": 0}
                self.recorder.fact("label_order", told, stage="preprocess", estimator=fed.model, file=fed.file or "", line=fed.line)


def counted(labels: np.ndarray) -> Counter[str]:
    """How often each label stands there."""
    levels, times = np.unique(labels if labels.dtype.kind != "O" else labels.astype(str), return_counts=True)
    return Counter({label_text(v): int(n) for v, n in zip(levels.tolist(), times)})


def ordered(labels: np.ndarray) -> dict[str, Any] | None:
    """Blocks of one class, where shuffled rows would hardly make any; None where they would, or where there are few."""
    levels, codes = np.unique(labels, return_inverse=True)
    blocks = [codes[i : i + BLOCK] for i in range(0, len(codes) - BLOCK + 1, BLOCK)]
    if len(blocks) < LEAST_BLOCKS or len(levels) < 2:
        return None
    shares = np.bincount(codes) / len(codes)
    alone = float(np.mean([(b == b[0]).all() for b in blocks]))
    if alone < ALONE or float((shares**BLOCK).sum()) > CHANCE:
        return None
    runs = int(1 + np.count_nonzero(codes[1:] != codes[:-1]))
    return {"sorted": True, "lacking": round(alone, 4), "runs": runs, "levels": len(levels), "levels_train": len(levels),
            "rows": list(range(min(50, len(codes)))), "remedy": "Read the rows in random order (ORDER BY random(), or one permutation of them), or keep a "
            "buffer of rows and give partial_fit batches that are drawn from it."}  # fmt: skip
