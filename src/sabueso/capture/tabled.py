"""Features and labels given to an estimator, found again in the whole table or arrays that they were cut from, in the order as read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import agreement, breaks, columns, lineage, naming, pairs, summarise, tables, twins
from .lineage.registry import shape_of
from .recorder import Recorder

MOST_LEVELS = 30
MOST_NUMBERS = 200_000  # rows
MOST_TEXTS = 6  # columns
MOST_FITS = 6  # of which the content is looked at


@dataclass(slots=True)
class Whole:
    """Features by column, labels, further columns of the same rows, and what positions are positions of."""

    columns: dict[str, np.ndarray]
    labels: np.ndarray
    beside: dict[str, np.ndarray]
    frame: Any
    y_name: str
    x_name: str


def look(recorder: Recorder, estimator: Any, x: Any, y: Any) -> None:
    """Judge what a predictor is given: labels that do not belong to their rows, equal rows with other labels."""
    if y is None or not hasattr(estimator, "predict") or not recorder.wants("label_agreement", "label_twins", "label_offset", "broken_rows"):
        return
    if recorder.shared.get("fits_judged", 0) >= MOST_FITS or not recorder.once(
        "fit_judged", *_shape(x), type(estimator).__name__[:3], str(getattr(y, "name", ""))
    ):
        return
    recorder.shared["fits_judged"] = recorder.shared.get("fits_judged", 0) + 1
    found = list(wholes(x, y))
    for whole in found:
        if recorder.once("whole", len(whole.labels), whole.y_name, len(whole.columns)):
            judge(recorder, whole)
    for whole in sorted(found, key=lambda w: -len(w.labels)):  # the table as read before its parts
        if breaks.look(recorder, whole, x, y, estimator, rows_of):
            return


def _shape(x: Any) -> tuple[int, ...]:
    return tuple(int(s) for s in (x.shape if hasattr(x, "shape") else (len(x),)))  # a sparse matrix has no length


def wholes(x: Any, y: Any) -> Iterator[Whole]:
    """Tables at hand that hold all columns of both, the one of as many rows first; else arrays that both were cut from; else both as given."""
    held = list(pairs.at_hand(None))
    n = summarise.height(x)
    if summarise.is_frame(x):
        yield from _of_frames(x, y, n, [h for h in held if summarise.is_frame(h.thing)])
    elif len(_shape(x)) == 2 and summarise.library(x) in ("numpy", "torch"):
        named = list(_of_table(x, y, n, [h for h in held if summarise.is_frame(h.thing)]))
        yield from named or _of_arrays(x, y, n, held)


def _of_frames(x: Any, y: Any, n: int, held: list[pairs.Held]) -> Iterator[Whole]:
    names, target = summarise.columns_of(x), getattr(y, "name", None)
    if target is None and summarise.is_frame(y) and len(summarise.columns_of(y)) == 1:
        target = summarise.columns_of(y)[0]
    fits = [
        h
        for h in held
        if target is not None and {*names, str(target)} <= set(summarise.columns_of(h.thing)) and n <= summarise.height(h.thing) <= pairs.MOST_ROWS
    ]
    sizes = sorted({summarise.height(h.thing) for h in fits})
    for size in dict.fromkeys(sizes[:1] + sizes[-1:]):
        frame = next(h for h in fits if summarise.height(h.thing) == size)
        yield _whole(frame.thing, frame.name, names, summarise.column(frame.thing, str(target)), str(target))
    if not fits and len(_shape(y)) == 1 and summarise.height(y) == n:
        yield _whole(x, "X", names, summarise.values(y), str(target or "y"))


def _of_table(x: Any, y: Any, n: int, frames: list[pairs.Held]) -> Iterator[Whole]:
    """The table that bare arrays were cut from: one that holds the values of all their columns and of the labels."""
    if len(_shape(y)) != 1 or not frames or summarise.height(y) != n:
        return
    given = [*(columns.columns(x) or ()), summarise.values(y)]
    if len(given) > 40 or given[-1].dtype.kind not in "iufb":
        return
    for h in sorted(frames, key=lambda h: -summarise.height(h.thing)):
        if n <= summarise.height(h.thing) <= breaks.MOST_ROWS:
            names = naming.names_from(given, h.thing)
            if names is not None:
                yield _whole(h.thing, h.name, names[:-1], summarise.column(h.thing, names[-1]), names[-1])
                return


def _whole(frame: Any, name: str, names: list[str], labels: np.ndarray, target: str) -> Whole:
    columns = {c: v for c in names[:100] if (v := _column(frame, c)) is not None}
    others = [c for c in summarise.columns_of(frame) if c not in names and c != target][:12]
    return Whole(columns, labels, {c: v for c in others if (v := _column(frame, c)) is not None}, frame, target, name)


def _column(frame: Any, name: str) -> np.ndarray | None:
    try:
        return summarise.column(frame, name)
    except Exception:  # nested values
        return None


def _of_arrays(x: Any, y: Any, n: int, held: list[pairs.Held]) -> Iterator[Whole]:
    """Arrays of the same width and more rows at hand, with labels of the same levels."""
    levels = _levels(y)
    if levels is None:
        return
    number = summarise.values(y).dtype.kind == "f"
    width, found = _shape(x)[1], False
    for h in held:
        shape = getattr(h.thing, "shape", ())
        if summarise.is_frame(h.thing) or len(shape) != 2 or shape[1] != width or not n <= shape[0] <= pairs.MOST_ROWS or summarise.library(h.thing) != "numpy":
            continue
        labels = [g for g in held if not summarise.is_frame(g.thing) and (_holds(g.thing, shape[0], y) if number else _same_levels(g.thing, shape[0], levels))]
        if labels:
            found = True
            g = _beside(x, y, h.thing, labels)
            yield _from_array(h.thing, h.name, summarise.values(g.thing), g.name, held)
            break
    if not found and summarise.height(y) == n:
        yield _from_array(x, "X", summarise.values(y), "y", held)


def _beside(x: Any, y: Any, whole: Any, labels: list[pairs.Held]) -> pairs.Held:
    """Of several columns of labels that one which the given rows have their labels from; the first where none has them all."""
    if len(labels) == 1 or summarise.height(y) != summarise.height(x):
        return labels[0]
    some = np.unique(np.linspace(0, summarise.height(x) - 1, 60).astype(np.int64))
    given, at = np.asarray(x)[some], []
    telling = int(np.argmax([len(np.unique(given[:, j])) for j in range(given.shape[1])]))
    for row in given:  # the rows' places in the whole, by value
        places = np.flatnonzero(np.asarray(whole)[:, telling] == row[telling])
        at.append(next((int(p) for p in places[:2000] if np.array_equal(np.asarray(whole)[p], row)), 0))
    mine = summarise.values(y)[some]
    return max(labels, key=lambda g: int((summarise.values(g.thing)[at] == mine).sum()))


def _levels(y: Any) -> set[Any] | None:
    if len(_shape(y)) != 1 or not len(y):
        return None
    values = summarise.values(y)
    return set(np.unique(values.astype(str) if values.dtype.kind == "O" else values)[:200].tolist())


def _same_levels(thing: Any, rows: int, levels: set[Any]) -> bool:
    shape = getattr(thing, "shape", (len(thing),) if isinstance(thing, (list, tuple)) else ())
    if len(shape) != 1 or shape[0] != rows or summarise.library(thing) == "torch":
        return False
    found = _levels(thing)
    return found is not None and levels <= found and len(found) <= len(levels) + 3


def _holds(thing: Any, rows: int, y: Any) -> bool:
    """A column of numbers of that many rows that holds these labels?"""
    if getattr(thing, "shape", None) != (rows,) or summarise.library(thing) == "torch" or getattr(thing, "dtype", np.dtype("O")).kind not in "iuf":
        return False
    return bool(np.isin(summarise.values(y)[:50], summarise.values(thing)).all())


def _from_array(x: Any, name: str, labels: np.ndarray, y_name: str, held: list[pairs.Held]) -> Whole:
    array = np.asarray(x)
    names = naming.names_in_records(array) if array.dtype.kind == "f" and array.shape[1] <= 40 else None
    columns = {names[i] if names else str(i): array[:, i] for i in range(min(array.shape[1], 100))}
    frames = [h.thing for h in held if summarise.is_frame(h.thing) and summarise.height(h.thing) == len(array)]
    frames.sort(key=lambda f: -len(summarise.columns_of(f)))
    beside = pairs.columns_of(frames, len(array))  # a column of a table, if it can, tells what an array beside it is
    beside |= {k: v for k, v in texts([h for h in held if h.name != y_name], len(array)).items() if k not in beside}
    return Whole(columns, labels, beside, frames[0] if frames else x, y_name, name)


def texts(held: list[pairs.Held], rows: int) -> dict[str, np.ndarray]:
    """Texts at hand, one a row: where each row comes from, say."""
    found = {}
    for h in held:
        if (
            len(found) < MOST_TEXTS
            and not summarise.is_frame(h.thing)
            and summarise.library(h.thing) in ("", "numpy")
            and (shape_of(h.thing) or (0,))[0] == rows
        ):
            values = np.asarray(h.thing) if getattr(h.thing, "ndim", 1) == 1 else np.zeros((0, 0))
            if values.ndim == 1 and (values.dtype.kind == "U" or values.dtype.kind == "O" and all(isinstance(v, str) for v in values.tolist())):
                found[h.name] = values
    return found


def judge(recorder: Recorder, whole: Whole) -> None:
    """Ask the questions that fit the kind of label."""
    n = len(whole.labels)
    if n < pairs.LEAST or not whole.columns or any(len(c) != n for c in whole.columns.values()):
        return
    codes = pairs.codes_of(whole.labels)
    if codes is not None and codes.max() >= 1:
        of_classes(recorder, whole, codes)
    elif whole.labels.dtype.kind in "iuf" and n <= MOST_NUMBERS and np.isfinite(whole.labels).all():
        of_numbers(recorder, whole)


def matrix(columns: dict[str, np.ndarray], rows: np.ndarray) -> np.ndarray:
    """Features of some rows as float32: numbers as they are, texts of few levels one-hot."""
    parts = [np.zeros((len(rows), 0), dtype=np.float32)]
    for values in columns.values():
        some = values[rows]
        if some.dtype.kind in "iufb":
            parts.append(some.astype(np.float32)[:, None])
        elif len(set(some.tolist())) <= MOST_LEVELS:
            levels, codes = np.unique(some.astype(str), return_inverse=True)
            parts.append(np.eye(len(levels), dtype=np.float32)[codes])
    return np.concatenate(parts, axis=1)


def of_classes(recorder: Recorder, whole: Whole, codes: np.ndarray) -> None:
    """Stretches whose labels belong to other rows; equal rows with other labels."""

    def features(rows: np.ndarray) -> np.ndarray:
        return matrix(whole.columns, rows)

    if recorder.shared.get("pairs_judged", 0) < pairs.MOST_PAIRS:
        recorder.shared["pairs_judged"] = recorder.shared.get("pairs_judged", 0) + 1
        beside = {**whole.beside, whole.y_name: whole.labels}
        pairs.judge(recorder, pairs.Pair(features, whole.labels, whole.x_name, whole.y_name, lambda: beside))
    renamed = _renamed_group(whole, features, codes)
    if renamed is not None:
        table, rows = rows_of(recorder, whole, renamed.pop("positions"))
        source = next((s for s in reversed(tables.of(recorder).sources) if s.name == table), None)
        where = {"file": source.file, "line": source.line} if source else {}
        recorder.fact("label_agreement", {**renamed, "features": whole.x_name, "labels": whole.y_name, "table": table, "row_numbers": rows,
                                          "labels_from": whole.y_name if summarise.is_frame(whole.frame) else None}, **where)  # fmt: skip
    found = twins.conflicts(list(whole.columns.values()), features, codes)
    if found is not None:
        label = pairs.column_of(codes, whole.beside) or whole.y_name
        table, rows = rows_of(recorder, whole, found.pop("positions"), label)
        recorder.fact("label_twins", {**found, "table": table, "row_numbers": rows, "labels": label, "features": whole.x_name})


def _renamed_group(whole: Whole, features: Any, codes: np.ndarray) -> dict[str, Any] | None:
    """One group (a source, a line) that numbers the classes otherwise than all others."""
    if len(codes) > MOST_NUMBERS:
        return None
    x: np.ndarray | None = None
    for by, groups in breaks.levels_of({**whole.beside, **whole.columns}).items():
        sizes = np.bincount(groups)
        if by in whole.columns and codes.max() == 1:
            continue  # an input that turns a yes or no round may be just what the model is to learn
        if len(sizes) < 2 or len(sizes) > 12 or by == whole.y_name or (sizes[sizes > 0] < agreement.LEAST).sum() > len(sizes) // 2:
            continue
        x = features(agreement.looked_at(len(codes))) if x is None else x
        found = agreement.renamed_group(x, codes, groups)
        if found is not None:
            levels, mapping = np.unique(whole.labels.astype(str) if whole.labels.dtype.kind == "O" else whole.labels), found.get("mapping") or {}
            named = {str(levels[a]): str(levels[b]) for a, b in mapping.items()} if len(levels) > max(mapping, default=0) else mapping
            held = {**whole.beside, **whole.columns}[by]
            return {**found, "mapping": named, "where": {by: str(held[found["positions"][0]])}}
    return None


def of_numbers(recorder: Recorder, whole: Whole) -> None:
    """Groups of rows in which another row's label fits the features better."""
    features: np.ndarray | None = None
    for name, values in {**whole.beside, **whole.columns}.items():
        levels = set(values[:5000].tolist())
        if not 2 <= len(levels) <= 20 or len(values) > MOST_NUMBERS:
            continue
        names, codes = np.unique(values.astype(str) if values.dtype.kind == "O" else values, return_inverse=True)
        if not 2 <= len(names) <= 20 or np.count_nonzero(np.diff(codes)) > 200:  # groups that lie in long runs
            continue
        features = matrix(whole.columns, np.arange(len(values))) if features is None else features
        groups = agreement.of_numbers(features, whole.labels.astype(np.float64), codes)
        odd = agreement.odd_one(groups)
        if odd is not None:
            table, rows = rows_of(recorder, whole, np.flatnonzero(codes == odd["group"]))
            others = [g["error"] for g in groups if g is not odd]
            recorder.fact("label_offset", {**odd, "by": name, "group": str(names[odd["group"]]), "others": float(np.median(others)), "table": table,
                                           "row_numbers": rows, "labels": whole.y_name, "features": whole.x_name})  # fmt: skip
            return


def rows_of(recorder: Recorder, whole: Whole, positions: np.ndarray, label: str | None = None) -> tuple[str | None, list[int]]:
    """Rows as read of these positions of the whole."""
    if summarise.is_frame(whole.frame):
        return tables.of(recorder).rows(whole.frame, positions, label)
    known = lineage.of(recorder).known_of(whole.frame, create=False)
    if known is not None and known.source.as_read:
        ids = known.ids[positions] - known.source.base
        if ((ids >= 0) & (ids < known.source.rows)).all():
            return known.source.name, tables.first(np.unique(ids))
    return None, tables.first(positions)
