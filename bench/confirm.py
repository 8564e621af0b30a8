"""`sabueso confirm` on folders of fault cases: is the right culprit verified, and no wrong one? Prints one line a culprit and the two shares.

    python bench/confirm.py CASES.. [--only GLOB,..] [--checks NAME,..] [--forge NAME,..] [--out rows.jsonl]

A case is a folder with truth.json and faulty.py (or program.py and faulty/ with what lies beside it). It is laid into a fresh folder, run watched, and
each culprit whose check has an intervention is confirmed. Bars: of right culprits at least 80 % verified, of wrong ones none.
With --forge the mended side is run, findings of these checks are made up for it, and none may be verified.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from sabueso.checks import catalogue
from sabueso.findings import Finding
from sabueso.places import Place

BAR = 0.8


def lay(case: Path, folder: Path, side: str = "faulty") -> str:
    """One side of a case in a folder of its own; returns the script."""
    beside = (case / "program.py").exists()
    out = {"truth.json", "faulty", "fixed", "__pycache__", "fixed.py" if side == "faulty" else "faulty.py"}
    shutil.copytree(case, folder, ignore=lambda at, names: set(names) & (out if Path(at) == case else {"__pycache__"}))
    if beside:
        shutil.copytree(case / side, folder, dirs_exist_ok=True)
    return "program.py" if beside else f"{side}.py"


def sabueso(*words: str, at: Path) -> str:
    env = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", **os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, "-m", "sabueso", *words], cwd=at, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout


def forged(case: Path, checks: list[str]) -> list[dict[str, Any]]:
    """A line for each finding that was made up for the mended side."""
    with tempfile.TemporaryDirectory() as place:
        script = lay(case, there := Path(place, "case"), "fixed")
        sabueso("run", "--json", str(out := Path(place, "out.json")), script, at=there)
        if not out.exists():
            return []
        diagnosis = json.loads(out.read_text())
        made = [Finding("made up", Place(file=script), check=c, severity="error", id=f"F9{n}", stage="train").as_dict() for n, c in enumerate(checks)]
        kept = there / ".sabueso" / "runs" / diagnosis["run"]["id"] / "diagnosis.json"
        rows = []
        for finding in made:
            kept.write_text(json.dumps({**diagnosis, "findings": made, "culprits": [finding]}))
            rows.append({"case": case.name, "check": finding["check"], "right": False, **verdict(there, finding["id"])})
        return rows


def verdict(there: Path, finding: str) -> dict[str, Any]:
    """What confirm says of it, and in how many seconds."""
    began = time.monotonic()
    told = sabueso("confirm", "--yes", "--format", "json", "--finding", finding, at=there)
    seconds = {"seconds": round(time.monotonic() - began, 1)}
    return (json.loads(told) if told.startswith("{") else {"verdict": "no answer", "tried": []}) | seconds


def confirmed(case: Path, truth: dict[str, Any]) -> list[dict[str, Any]]:
    """A line for each culprit of the case that can be tried; one without a verdict where the right one is not among them."""
    accepted, can = set(truth.get("accept") or [truth["check"]]), {n for n, c in catalogue().items() if c.interventions}
    with tempfile.TemporaryDirectory() as place:
        script = lay(case, there := Path(place, "case"))
        sabueso("run", "--json", str(out := Path(place, "out.json")), script, at=there)
        culprits = json.loads(out.read_text())["culprits"] if out.exists() else []
        rows = []
        for c in [c for c in culprits if c["check"] in can]:
            rows.append({"case": case.name, "check": c["check"], "right": c["check"] in accepted, **verdict(there, c["id"])})
    if not any(r["right"] for r in rows) and not any(c["check"] in accepted for c in culprits) and accepted & can:
        rows.append({"case": case.name, "check": "-", "right": None, "verdict": "not found", "tried": [], "found": [c["check"] for c in culprits]})
    return rows


def line(row: dict[str, Any]) -> str:
    tried = "; ".join(f"{v['change']}: {v['verdict']} ({v['what']} {v['before']} -> {v['after']})" for v in row["tried"])
    kind = {True: "right", False: "WRONG", None: "-"}[row["right"]]
    return f"{row['case']:26} {row['check']:24} {kind:6} {row['verdict']:20} {row.get('seconds', 0):5.0f} s  {tried or row.get('found', '')}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path, nargs="+")
    parser.add_argument("--only", default="*")
    parser.add_argument("--checks", default="", help="only cases that accept one of these")
    parser.add_argument("--forge", default="", help="make up findings of these checks for the mended side")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    can, rows = {n for n, c in catalogue().items() if c.interventions}, []
    for file in sorted(f for root in asked.cases for f in root.rglob("truth.json")):
        truth, case = json.loads(file.read_text()), file.parent
        broken = (case / "faulty.py").exists() or (case / "faulty").is_dir()
        wanted = {a for a in truth.get("accept") or [truth.get("check")] if a} & (set(asked.checks.split(",")) if asked.checks else can)
        if (not broken or not wanted) and not asked.forge or not any(fnmatch.fnmatch(case.name, g) for g in asked.only.split(",")):
            continue
        for row in forged(case, asked.forge.split(",")) if asked.forge else confirmed(case, truth):
            rows.append(row)
            print(line(row), flush=True)
            if asked.out:
                with asked.out.open("a") as file_out:
                    file_out.write(json.dumps(row) + "\n")
    right, wrong = ([r["verdict"] == "went away" for r in rows if r["right"] is kind] for kind in (True, False))
    print(f"\nverified: right culprits {sum(right)} of {len(right)} (bar {BAR:.0%}), wrong ones {sum(wrong)} of {len(wrong)}")
    return 0 if (asked.forge or right) and sum(right) >= BAR * len(right) and not any(wrong) else 1


if __name__ == "__main__":
    sys.exit(main())
