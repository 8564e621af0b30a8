"""Differences of arrays without a sign, as the running functions take them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sabueso.capture.unsigned import Unsigned, wrapped

RNG = np.random.default_rng(0)
A, B = (RNG.integers(90, 120, (20, 8, 8)).astype(np.uint8) for _ in range(2))

WRONG = {
    "at once": "d = np.abs(a - b)\nfit()",
    "by name": "d = a[1:] - a[:-1]\ne = d.std()\nfit()",
    "in a function": "def change(p, q):\n    return np.square(p - q)\nx = change(a, b)\nfit()",
    "within a function": "def train(p, q):\n    x = (p - q).astype(float)\n    fit()\ntrain(a, b)",
}
RIGHT = {
    "with a sign": "d = np.abs(a.astype(np.int16) - b)\nfit()",
    "meant to go round": "d = (a - b).view(np.int8)\nfit()",
    "small only later": "p, q = a.astype(float), b.astype(float)\nd = np.abs(p - q)\np, q = a, b\nfit()",
    "sorted": "s = np.sort(a, axis=0)\nd = np.abs(s[1:] - s[:-1])\nfit()",
    "given a sign in the function": "def change(p, q):\n    p = p.astype(int)\n    return np.abs(p - q)\nx = change(a, b)\nfit()",
}


class Recorder:
    """Keeps what is told."""

    def __init__(self) -> None:
        self.shared: dict[str, Any] = {}
        self.facts: list[int] = []

    def once(self, *key: Any) -> bool:
        return True

    def fact(self, name: str, value: dict[str, Any], **place: Any) -> None:
        self.facts.append(place["line"])


def lines(source: str, folder: Path) -> list[int]:
    """Where differences that went round are told of a program of the person's."""
    file, recorder = folder / "program.py", Recorder()
    file.write_text(source)
    look = Unsigned(recorder)  # type: ignore[arg-type]
    exec(compile(source, str(file), "exec"), {"np": np, "a": A, "b": B, "fit": look.fitted})
    return sorted(set(recorder.facts))


@pytest.mark.parametrize("name", WRONG)
def test_went_round(name: str, tmp_path: Path) -> None:
    source = WRONG[name]
    assert lines(source, tmp_path) == [next(i for i, text in enumerate(source.split("\n"), 1) if "-" in text)]


@pytest.mark.parametrize("name", RIGHT)
def test_did_not(name: str, tmp_path: Path) -> None:
    assert not lines(RIGHT[name], tmp_path)


def test_one_background_for_all() -> None:
    found = wrapped(A, A[0])
    assert found is not None and found["example"][0] - found["example"][1] + 256 == found["example"][2]
    assert wrapped(A, A) is None and wrapped(A[:1, :1], A[:1, :1]) is None
