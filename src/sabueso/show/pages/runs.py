"""The list of runs: read from the heads of their folders alone."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

NOTHING = "nothing found"
KINDS = {"succeeded": "good", "failed": "bad", "killed": "bad"}


def rows(folders: list[Path]) -> list[dict[str, Any]]:
    """When, name, outcome, verdict and seconds of each run."""
    return [_row(f) for f in folders]


def _row(folder: Path) -> dict[str, Any]:
    meta = _read(folder / "run.json")
    said = verdict(folder, meta)
    started, seconds = meta.get("started"), meta.get("seconds")
    outcome = str(meta.get("outcome") or ("running" if meta else "unreadable"))
    return {
        "name": folder.name, "outcome": outcome, "kind": KINDS.get(outcome, "warn"), "verdict": said, "found": said not in ("", NOTHING),
        "started": time.strftime("%Y-%m-%d %H:%M", time.localtime(started)) if isinstance(started, (int, float)) else "",
        "seconds": f"{seconds:.1f}" if isinstance(seconds, (int, float)) else "",
    }  # fmt: skip


def verdict(folder: Path, meta: dict[str, Any]) -> str:
    """The culprits; run.json holds them since the diagnosis is kept, older runs have them in the diagnosis only."""
    found = meta.get("verdict")
    if found is None and "outcome" in meta:
        kept = _read(folder / "diagnosis.json")
        found = [c.get("check", "?") for c in kept["culprits"]] if "culprits" in kept else None
    return "" if found is None else ", ".join(map(str, found)) or NOTHING


def _read(path: Path) -> dict[str, Any]:
    try:
        held = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}
