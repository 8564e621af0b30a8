"""Whole small pipelines: `pairs/<fault>-<what>/`, found by glob and run as a person would.

Beside expect.json lie fault.py and control.py, or program.py and the folders fault/ and control/ of what it works on: there the program is
the same on both sides. All of `place` must fit, of `either` one is enough (lines within two).
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from programs import diagnosed, told

PAIRS = sorted(p.parent for p in (Path(__file__).parent / "pairs").glob("*/expect.json"))
pairs = pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p.name)


def laid(pair: Path, side: str, folder: Path) -> tuple[str, Path]:
    """The script's name and a copy of its folder, so that what the program writes stays out of the repository."""
    at = Path(shutil.copytree(pair, folder / "pair"))
    if (at / f"{side}.py").exists():
        return f"{side}.py", at
    shutil.copytree(at / side, at, dirs_exist_ok=True)
    return "program.py", at


def fits(place: dict[str, Any], key: str, wanted: Any) -> bool:
    """Lines within two of what is accepted; of columns, rows and modules one in common is enough."""
    given, known = ({str(v) for v in (x if isinstance(x, list) else [x])} for x in (place.get(key), wanted))
    if key == "line":
        return any(abs(int(g) - int(k)) <= 2 for g in given - {"None"} for k in known)
    return bool(given & known)


@pairs
def test_fault_is_the_first_culprit(pair: Path, tmp_path: Path) -> None:
    expect = json.loads((pair / "expect.json").read_text())
    diagnosis = diagnosed(*laid(pair, "fault", tmp_path))
    first = diagnosis["culprits"][0] if diagnosis["culprits"] else None
    assert first and first["check"] in [expect["check"], *expect.get("accept", [])], told(diagnosis)
    for key, wanted in expect.get("place", {}).items():
        assert fits(first["place"], key, wanted), f"{key} {wanted} expected\n{told(diagnosis)}"
    either = expect.get("either", {})
    assert not either or any(fits(first["place"], key, wanted) for key, wanted in either.items()), f"one of {either} expected\n{told(diagnosis)}"


@pairs
def test_control_is_silent(pair: Path, tmp_path: Path) -> None:
    diagnosis = diagnosed(*laid(pair, "control", tmp_path))
    assert not diagnosis["culprits"], told(diagnosis)
