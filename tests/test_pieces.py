"""Pieces for which a metric is reckoned: batches, or folds, groups and columns whose mean is a figure of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sabueso.capture.pieces import batches

PARTS = {
    "folds": "for fit, judge in kf.split(y):\n    ask()",
    "folds in a variable": "pairs = [(np.arange(6), np.arange(2))]\nfor fit, judge in pairs:\n    ask()",
    "groups by name": "for site in sites:\n    ask()",
    "groups by number": "for hour in range(3):\n    rows = y == hour\n    ask()",
    "columns": "for j in range(3):\n    p = table[:, j]\n    ask()",
    "a model each": "for start in range(0, 6, 2):\n    w = np.linalg.lstsq(table[:4], y[:4], rcond=None)\n    ask()",
    "a function that the loop calls": "def one(rows):\n    ask()\nfor site in sites:\n    one(site)",
}  # fmt: skip
BATCHES = {
    "slices": "for i in range(0, 6, 2):\n    rows = y[i : i + 2]\n    ask()",
    "a last one told apart": "for i in range(3):\n    if i == 2:\n        pass\n    ask()",
    "a loader": "for x, t in [(y, y), (y, y)]:\n    ask()",
    "answers compared with a batch's": "for x, t in [(y, y), (y, y)]:\n    right = (x == t).mean()\n    ask()",
    "by hand": "i = 0\nwhile i < 4:\n    ask()\n    i += 2",
    "no loop": "ask()",
}


class Splitter:
    def split(self, y: np.ndarray) -> Any:
        yield np.arange(6), np.arange(2)


def asked(source: str, folder: Path) -> bool:
    """What is said of a call of `ask` in a program of the person's."""
    file, answers = folder / "program.py", []
    file.write_text(source)
    names = {"ask": lambda: answers.append(batches(sys._getframe(1))), "np": np, "y": np.arange(6), "table": np.ones((6, 3)), "kf": Splitter(),
             "sites": ["a", "b"]}  # fmt: skip
    exec(compile(source, str(file), "exec"), names)
    assert answers
    return answers[0]


@pytest.mark.parametrize("name", PARTS)
def test_parts(name: str, tmp_path: Path) -> None:
    assert not asked(PARTS[name], tmp_path)


@pytest.mark.parametrize("name", BATCHES)
def test_batches(name: str, tmp_path: Path) -> None:
    assert asked(BATCHES[name], tmp_path)
