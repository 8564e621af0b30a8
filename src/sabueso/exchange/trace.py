"""A trace in the form of Chrome's, which Perfetto and chrome://tracing open: stages as spans, facts and findings as marks, series as counters.

Series have no clock of their own: their steps are laid between the times of the facts that know their step.
"""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from ..curves import Curve
from ..diagnoses import Diagnosis
from ..errors import UsageError
from ..events import Fact
from ..store.browse import Browser

COUNTERS = ("train_loss", "gradient_norm", "learning_rate", "evaluation_error", "logged")
BUCKETS = 2000  # points of a counter
MOST_FACTS = 50_000


def write(path: Path, browser: Browser, diagnosis: Diagnosis) -> Path:
    """One file, compressed where its name ends in .gz. Raises UsageError."""
    text = json.dumps({"traceEvents": events(browser, diagnosis), "displayTimeUnit": "ms", "otherData": {"run": browser.folder.name}}, default=str)
    try:
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    except OSError as error:
        raise UsageError(f"{path} can't be written ({error.strerror or error}); write elsewhere with -o") from error
    return path


def events(browser: Browser, diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """All that the trace holds, in microseconds since the run began."""
    facts = browser.facts(most=MOST_FACTS)
    began = browser.meta.get("started") or (facts[0].time if facts else 0.0)
    over = began + float(browser.meta.get("seconds") or ((facts[-1].time - began) if facts else 0.0))
    made: list[dict[str, Any]] = [{"ph": "M", "pid": p, "name": "process_name", "args": {"name": f"process {p}"}} for p in sorted({f.process for f in facts})]
    made += spans([f for f in facts if f.name == "stage_seen"], began, over)
    made += [mark(f.name, f.time - began, f.process, {"place": f.place.as_dict(), "value": f.value}) for f in facts]
    for process, (times, steps) in clocks(facts, began).items():
        for s in browser.listing():
            if s.name in COUNTERS and s.process == process and s.count:
                name = " ".join(p for p in (s.name, s.place.tensor, s.place.module) if p)
                made += counter(name, browser.curve(s.number, BUCKETS), process, times, steps)
        made += [mark(f"finding {f.check}", float(np.interp(f.place.step, steps, times)), process, f.as_dict())
                 for f in diagnosis.findings if f.place.step is not None]  # fmt: skip
    return finite(made)  # type: ignore[no-any-return]


def spans(seen: list[Fact], began: float, over: float) -> list[dict[str, Any]]:
    """A stage lasts from the first evidence of it to that of the next one in the same process."""
    made = []
    for n, f in enumerate(seen):
        end = next((g.time for g in seen[n + 1 :] if g.process == f.process), max(over, f.time))
        made.append({"ph": "X", "pid": f.process, "tid": 1, "name": f["stage"], "cat": "stage", "ts": us(f.time - began), "dur": us(end - f.time)})
    return made


def mark(name: str, seconds: float, process: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "i", "s": "t", "pid": process, "tid": 2, "name": name, "ts": us(seconds), "args": args}


def clocks(facts: list[Fact], began: float) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """process -> (seconds, steps) of the facts that know both, steps rising."""
    made = {}
    for process in {f.process for f in facts}:
        known = [(f.time - began, f.place.step) for f in facts if f.process == process and f.place.step is not None]
        if known:
            times, steps = np.array(known, float).T
            made[process] = times, np.maximum.accumulate(steps)
    return made


def counter(name: str, curve: Curve, process: int, times: np.ndarray, steps: np.ndarray) -> list[dict[str, Any]]:
    """Mean and extremes by step; a value that is not finite is a mark of its own."""
    at = np.interp(curve.steps, steps, times)
    made = [
        {"ph": "C", "pid": process, "name": name, "ts": us(t), "args": {"mean": m} if curve.raw else {"least": lo, "mean": m, "most": hi}}
        for t, lo, m, hi in zip(at.tolist(), curve.low.tolist(), curve.mean.tolist(), curve.high.tolist()) if m == m
    ]  # fmt: skip
    bad = curve.broken[:, 0]
    return made + [mark(f"{name} not finite", float(np.interp(s, steps, times)), process, {"step": int(s)}) for s in bad]


def finite(value: Any) -> Any:
    """What any JSON parser reads: "nan" and "inf" in place of the numbers."""
    if isinstance(value, dict):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def us(seconds: float) -> float:
    return round(max(0.0, seconds) * 1e6, 1)
