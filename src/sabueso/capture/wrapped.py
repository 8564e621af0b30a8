"""Wrapped: small integers that are stored beside the weights that they were made of, some of which went beyond what the integer holds."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from typing import Any

import numpy as np

from .origin import names_in, user_frame
from .outputs import plain
from .recorder import Recorder
from .storing import walk
from .summarise import library

LEAST, MOST = 16, 4_000_000  # elements
MOST_OBJECTS = 3000  # looked at in the frames
MOST_FOUND = 12
FIT = 0.999  # of the elements that a rounding explains once what went round the end is put back
FRAMES = 4


def look(recorder: Recorder, value: Any) -> None:
    """Fact `integers_wrapped`, where an object about to be stored holds such integers."""
    if not recorder.wants("integers_wrapped"):
        return
    held = [(where.rpartition("/")[2], x) for where, v in walk(value) if (x := _integers(v)) is not None][:200]
    shapes = {x.shape for _, x in held} | {x.shape[::-1] for _, x in held}
    weights = list(_weights(shapes)) if held else []
    found = []
    for name, whole in held:
        for own, w in weights:
            told = wrapped(whole, w if w.shape == whole.shape else w.T) if whole.shape in (w.shape, w.shape[::-1]) else None
            if told is not None:
                found.append({"array": name, "weights": own, **told})
                break
    if found:
        recorder.fact("integers_wrapped", {"found": found[:MOST_FOUND], "of": len(held), "line": _cast_line()}, stage="deploy")


def _integers(x: Any) -> np.ndarray | None:
    if library(x) not in ("numpy", "torch") or "int" not in str(getattr(x, "dtype", "")) or not hasattr(x, "shape"):
        return None
    found = plain(x)
    return found if found is not None and found.dtype.kind in "iu" and found.dtype.itemsize <= 2 and LEAST <= found.size <= MOST else None


def _weights(shapes: set[tuple[int, ...]]) -> Iterator[tuple[str, np.ndarray]]:
    """Weights of these shapes that the person's frames hold, those of models with the models' own names first."""
    spaces, frame = [], user_frame()
    for _ in range(FRAMES):
        if frame is not None:
            spaces += [names_in(frame), frame.f_globals]
            frame = user_frame(frame.f_back) if frame.f_back is not None else None
    objects = list({id(v): (k, v) for space in spaces for k, v in list(space.items()) if not k.startswith("__")}.values())
    left = MOST_OBJECTS
    for name, x in sorted(objects, key=lambda o: not hasattr(type(o[1]), "named_parameters")):
        inner = x.named_parameters() if hasattr(type(x), "named_parameters") else ((f"{name}{w}", v) for w, v in walk(x, deep=2))
        for where, v in inner:
            left -= 1
            if left < 0:
                return
            if library(v) in ("numpy", "torch") and tuple(getattr(v, "shape", ())) in shapes and "float" in str(v.dtype):
                found = plain(v)
                if found is not None and np.isfinite(found).all():
                    yield where, found.astype(float)


def wrapped(whole: np.ndarray, weights: np.ndarray) -> dict[str, Any] | None:
    """How many integers went round the end of their type: rounded multiples of the weights, whole or row by row; None where none did, or it is no rounding."""
    found = _round(whole.reshape(1, -1).astype(float), weights.reshape(1, -1), whole.dtype)
    if found is None and whole.ndim > 1 and whole[0].size >= LEAST:
        found = _round(whole.reshape(len(whole), -1).astype(float), weights.reshape(len(whole), -1), whole.dtype)
    if found is None or not found[1].any():
        return None
    real, times = found[0].reshape(-1), found[1].reshape(-1)
    at = int(np.argmax(np.abs(real) * (times != 0)))
    ends = np.iinfo(whole.dtype)
    return {"count": int((times != 0).sum()), "of": int(whole.size), "dtype": str(whole.dtype), "ends": [int(ends.min), int(ends.max)],
            "weight": float(weights.reshape(-1)[at]), "meant": round(float(real[at])), "stored": int(whole.reshape(-1)[at])}  # fmt: skip


def _round(q: np.ndarray, w: np.ndarray, dtype: np.dtype[Any]) -> tuple[np.ndarray, np.ndarray] | None:
    """(what the rounding was made of, how often it went round) row by row; None where a rounding of multiples of the weights does not explain the integers."""
    span = 2.0 ** (8 * dtype.itemsize)
    low, high = np.quantile(w, [0.25, 0.75], axis=1, keepdims=True)
    used = (w >= low) & (w <= high)  # the middle of the weights is not cut off by anybody
    times = np.zeros_like(q)
    real = q
    for _ in range(3):
        put_back = q + span * times
        n = used.sum(axis=1, keepdims=True)
        mw, mq = (w * used).sum(axis=1, keepdims=True) / n, (put_back * used).sum(axis=1, keepdims=True) / n
        spread = ((w - mw) ** 2 * used).sum(axis=1, keepdims=True)
        if not (spread > 0).all():
            return None
        slope = ((w - mw) * (put_back - mq) * used).sum(axis=1, keepdims=True) / spread
        real = mq + slope * (w - mw)
        times = np.round((real - q) / span)
        used = np.ones_like(used)
    left = np.abs(q + span * times - real)
    few_levels = len(np.unique(q)) < 8
    return (real, times) if not few_levels and float((left <= 1.05).mean()) >= FIT and float((times != 0).mean()) < 0.4 else None


def _cast_line() -> int | None:
    """The one line of the person's file that casts to a small integer; None where there are several, or none."""
    frame = user_frame()
    if frame is None:
        return None
    casts = ("int8", "int16")
    lines = [
        i for i, text in enumerate(linecache.getlines(frame.f_code.co_filename), 1) if any(c in text for c in casts) and ("astype(" in text or ".to(" in text)
    ]
    return lines[0] if len(lines) == 1 else None
