"""Rows that a model was given at two lines, alike but for a column or two: what lies between both ways of preparing them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from . import authorship
from .columns import ROWS
from .recorder import Recorder
from .streams import Stream, joined

LEAST = 20  # rows
MOST_PARTS = 8  # calls of one model that are held against each other
ALIKE = 1e-5  # relative difference of numbers that went through a text or 32 bits
TOUCHED = 0.1  # share of rows in which a column differs
FELT = 0.05  # spreads of the answer, or share of labels, by which the answers differ
PERIODS = (24, 7, 12, 60)
BITS = (8, 16, 32)

Part = tuple[Stream, np.ndarray, list[np.ndarray], np.ndarray | None]  # a stream's rows of one call, their columns, their answers


def look(recorder: Recorder, streams: Iterable[Stream]) -> None:
    """At the end: hold the calls of each model against each other."""
    if not recorder.wants("fed_twice"):
        return
    held: dict[tuple[int, int], list[Part]] = {}
    for stream in streams:
        if stream.method != "transform":
            held.setdefault((stream.model.number, stream.model.fits), []).extend(parts(stream))
    for some in held.values():
        told: set[tuple[int | None, int | None]] = set()
        for i, a in enumerate(some[:MOST_PARTS]):
            for b in some[i + 1 : MOST_PARTS]:
                for usual, other in ((a, b), (b, a)) if a[0].served <= b[0].served else ((b, a),):
                    found = between(usual, other) if (usual[0].line, other[0].line) not in told else None
                    if found is not None:
                        told |= {(usual[0].line, other[0].line), (other[0].line, usual[0].line)}
                        file, line = made(found, other[0]) or (other[0].file, other[0].line)
                        recorder.fact("fed_twice", found, stage="deploy", estimator=other[0].model.cls, file=file or "", line=line)


def made(found: dict[str, Any], stream: Stream) -> tuple[str, int] | None:
    """Where the program casts numbers to the integers that they went through."""
    forms = {f"{'' if c['signed'] else 'u'}int{c['bits']}" for c in found["columns"] if c["kind"] == "wrapped"}
    return authorship.cast(forms.pop(), (stream.file, stream.model.file)) if len(forms) == 1 else None


def parts(stream: Stream) -> Iterator[Part]:
    """The calls of many rows one by one; small calls all together."""
    rows, got = joined(stream)
    answers = np.concatenate(stream.answers) if stream.answers and len({a.dtype.kind for a in stream.answers}) == 1 else None
    answers = answers if answers is not None and len(answers) == len(rows) else None
    if len(rows) != stream.rows or not LEAST <= len(rows) or any(c.dtype.kind not in "iufb" for c in got):
        return
    cuts = [*stream.starts, stream.rows] if stream.calls <= MOST_PARTS else [0, stream.rows]
    for low, high in zip(cuts, cuts[1:]):
        if high - low >= LEAST:
            at = rows[low:high] - (low if rows[low] == low else 0)  # an array's rows are counted on over the calls of a line
            yield stream, at, [c[low:high].astype(np.float64) for c in got], answers[low:high] if answers is not None else None


def between(usual: Part, other: Part) -> dict[str, Any] | None:
    """The columns in which both differ, by a rule, where all other columns are the same in row after row; None for other rows, or no rule."""
    n = min(len(usual[1]), len(other[1]))
    a, b = ([c[:n] for c in part[2]] for part in (usual, other))
    if len(a) != len(b) or len(a) < 2:
        return None
    same = [bool((np.abs(x - y) <= ALIKE * (np.abs(x) + 1e-9)).mean() > 0.99) for x, y in zip(a, b)]
    keys = [x for x, alike in zip(a, same) if alike]
    if all(same) or sum(same) < 0.5 * len(same) or max(len(np.unique(x)) for x in keys) < 0.5 * n:
        return None
    columns = []
    for j, alike in enumerate(same):
        if alike:
            continue
        rule = wrapped(a[j], b[j]) or turned(a[j], b[j]) or recoded(a[j], b[j])
        if rule is None:
            return None
        model = other[0].model
        touched = np.flatnonzero((np.trunc(a[j]) if rule["kind"] == "wrapped" else a[j]) != b[j])
        columns.append({"name": model.names[j] if model.names and j < len(model.names) else f"column {j}", "share": len(touched) / n, **rule,
                        "example": [float(a[j][touched[0]]), float(b[j][touched[0]])], "rows": other[1][touched[:ROWS]].tolist()})  # fmt: skip
    apart = felt(usual[3], other[3], n)
    if apart is None or apart < FELT:
        return None
    return {"model": other[0].model.cls, "rows": n, "columns": columns, "served": other[0].served and not usual[0].served, "usual_line": usual[0].line,
            "answers_apart": round(apart, 3), "fit_line": other[0].model.line}  # fmt: skip


def felt(usual: np.ndarray | None, other: np.ndarray | None, n: int) -> float | None:
    """By how many spreads the answers differ, or by what share of labels."""
    if usual is None or other is None:
        return None
    x, y = usual[:n], other[:n]
    if x.dtype.kind == "f" and y.dtype.kind == "f" and x.std() > 0:
        return float(np.abs(x - y).mean() / x.std())
    return float((x != y).mean())


def wrapped(a: np.ndarray, b: np.ndarray) -> dict[str, Any] | None:
    """Numbers too large for an integer of few bits come back as what is left of them."""
    whole = np.trunc(a)
    if not (np.isfinite(a).all() and (b == np.trunc(b)).all()) or np.abs(a).max() >= 2**62:
        return None
    for bits in BITS:
        size = 2**bits
        for signed in (True, False):
            low = -size // 2 if signed else 0
            if ((whole - low) % size + low == b).all() and ((whole < low) | (whole >= low + size)).mean() >= TOUCHED / 10:
                return {"kind": "wrapped", "bits": bits, "signed": signed, "beyond": int(((whole < low) | (whole >= low + size)).sum()),
                        "limit": low + size - 1}  # fmt: skip
    return None


def turned(a: np.ndarray, b: np.ndarray) -> dict[str, Any] | None:
    """A cyclic part of a time that is some steps off; with summer time in between it may be off by two."""
    if not all((x == np.trunc(x)).all() for x in (a, b)):
        return None
    first = min(a.min(), b.min())
    for period in PERIODS:
        if first not in (0, 1) or max(a.max(), b.max()) > first + period - 1 or len(np.unique(a)) < 0.6 * period:
            continue
        steps, times = np.unique((b - a) % period, return_counts=True)
        top = int(steps[times.argmax()])
        near = times[np.isin(steps, [top, (top + 1) % period])].sum(), times[np.isin(steps, [top, (top - 1) % period])].sum()
        if top and max(near) >= 0.95 * len(a) and times.max() >= 0.5 * len(a) and (b < a).any() and (b > a).any():
            return {"kind": "turned", "period": period, "steps": top - period if top > period / 2 else top}
    return None


def recoded(a: np.ndarray, b: np.ndarray) -> dict[str, Any] | None:
    """Each value stands for one other value: a scale, a logarithm, another numbering."""
    values, at, times = np.unique(a, return_inverse=True, return_counts=True)
    if (a != b).mean() < TOUCHED or len(values) < 2:
        return None
    if len(values) <= 0.25 * len(a):
        low, high = np.full(len(values), np.inf), np.full(len(values), -np.inf)
        np.minimum.at(low, at, b)
        np.maximum.at(high, at, b)
        if (high - low <= ALIKE * (np.abs(low) + 1e-9)).all() and len(np.unique(low)) == len(values):
            return {"kind": "recoded", "values": len(values)} if not (np.diff(low) > 0).all() else _scaled(a, b) or {"kind": "bent"}
        return None
    order = np.argsort(a, kind="stable")
    steps = np.diff(b[order])
    if np.isfinite(b).all() and ((steps >= 0).all() or (steps <= 0).all()) and b.std() > 0:
        return _scaled(a, b) or {"kind": "bent"}
    return None


def _scaled(a: np.ndarray, b: np.ndarray) -> dict[str, Any] | None:
    """b is a line of a, and more than moved by a constant."""
    slope, start = np.polyfit(a, b, 1)
    if np.abs(b - slope * a - start).max() > 1e-4 * (np.ptp(b) or 1.0):
        return None
    return {"kind": "scaled", "slope": float(slope), "start": float(start)} if abs(slope - 1) > 0.01 else None
