"""Whole small pipelines: `pairs/<fault>-<what>/` with fault.py, control.py and expect.json, found by glob and run as a person would."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from programs import diagnosed, told

PAIRS = sorted(p.parent for p in (Path(__file__).parent / "pairs").glob("*/expect.json"))
pairs = pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p.name)


def laid(pair: Path, folder: Path) -> Path:
    """A copy, so that what the program writes stays out of the repository."""
    return Path(shutil.copytree(pair, folder / "pair"))


def fits(place: dict[str, Any], key: str, wanted: Any) -> bool:
    """Lines within what is accepted; of columns, rows and modules one in common is enough."""
    as_set = lambda x: {str(v) for v in (x if isinstance(x, list) else [x])}  # noqa: E731
    return bool(as_set(place.get(key)) & as_set(wanted))


@pairs
def test_fault_is_the_first_culprit(pair: Path, tmp_path: Path) -> None:
    expect = json.loads((pair / "expect.json").read_text())
    diagnosis = diagnosed("fault.py", laid(pair, tmp_path))
    first = diagnosis["culprits"][0] if diagnosis["culprits"] else None
    assert first and first["check"] in [expect["check"], *expect.get("accept", [])], told(diagnosis)
    for key in ("line", "column", "row", "module", "tensor", "estimator", "step"):
        if key in expect:
            assert fits(first["place"], key, expect[key]), f"{key} {expect[key]} expected\n{told(diagnosis)}"


@pairs
def test_control_is_silent(pair: Path, tmp_path: Path) -> None:
    diagnosis = diagnosed("control.py", laid(pair, tmp_path))
    assert not diagnosis["culprits"], told(diagnosis)
