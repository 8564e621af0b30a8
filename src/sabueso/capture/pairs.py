"""Features and labels as wholes, in the order as read: found among what the person's frames hold when training begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any

import numpy as np

from . import agreement, authorship, lineage, summarise
from .lineage import answers
from .origin import is_users, names_in, user_frame
from .recorder import Recorder

LEAST = 120  # rows
MOST_ROWS = 2_000_000
CONFIRMING = 1000  # rows that are asked whether labels belong to other features
MOST_PAIRS = 3  # that are looked at in a run
MOST_THINGS = 400
FRAMES = 8


@dataclass(slots=True)
class Held:
    """An array, list or table that the program holds, under the name that it has there."""

    name: str
    thing: Any
    owner: int  # things of one object belong together
    file: str | None = None
    line: int | None = None


@dataclass(slots=True)
class Pair:
    """Features beside labels: both in the same order; columns of tables with the same rows (`beside()`) give sort orders and groups."""

    x: Any
    y: Any
    x_name: str
    y_name: str
    beside: Callable[[], dict[str, np.ndarray]] = dict


def look(recorder: Recorder, frame: FrameType | None = None) -> None:
    """Judge the pairs that are at hand, once a pair, a few a run; record `label_agreement` where labels do not belong to their features."""
    if not recorder.wants("label_agreement") or recorder.shared.get("pairs_judged", 0) >= MOST_PAIRS:
        return
    found = list(pairs(list(at_hand(frame))))
    for pair in found:
        key = ("pair", pair.x_name, pair.y_name, summarise.height(pair.x))
        if recorder.shared.get("pairs_judged", 0) < MOST_PAIRS and recorder.once(*key):
            recorder.shared["pairs_judged"] = recorder.shared.get("pairs_judged", 0) + 1
            judge(recorder, pair, [p.x for p in found if p.y is pair.y and p.x is not pair.x and not callable(p.x)])


def at_hand(frame: FrameType | None) -> Iterator[Held]:
    """Arrays, tables and lists among the variables of the person's frames, and within the person's objects and loaders there."""
    f, seen, count = user_frame(frame), set(), 0
    while f is not None and count < FRAMES:
        if is_users(f.f_code.co_filename):
            count += 1
            for name, thing in list(names_in(f).items())[:MOST_THINGS]:
                yield from _within(name, thing, id(f), seen, 0)
        f = f.f_back


def _within(name: str, thing: Any, owner: int, seen: set[int], depth: int) -> Iterator[Held]:
    if id(thing) in seen or len(seen) > MOST_THINGS or depth > 4 or isinstance(thing, (type, str, bytes, int, float)) or thing is None:
        return
    seen.add(id(thing))
    lib = summarise.library(thing)
    if lib and hasattr(thing, "shape") or summarise.is_frame(thing):
        yield Held(name, thing, owner)
    elif isinstance(thing, (list, tuple)):
        if len(thing) >= LEAST and isinstance(thing[0], (str, int, np.integer)):
            yield Held(name, thing, owner)
        elif len(thing) <= 8:
            for i, part in enumerate(thing):
                yield from _within(f"{name}[{i}]", part, owner, seen, depth + 1)
    elif isinstance(thing, dict) and len(thing) <= 20:
        for key, part in list(thing.items()):
            yield from _within(f"{name}[{key!r}]", part, owner, seen, depth + 1)
    elif type(thing).__name__ == "DataLoader" or "Subset" in type(thing).__name__:
        yield from _within(name, getattr(thing, "dataset", None), owner, seen, depth + 1)
    elif isinstance(getattr(thing, "__dict__", None), dict) and _holds_data(thing):
        for key, part in list(vars(thing).items())[:40]:
            yield from _within(key if key != "tensors" else name, part, id(thing), seen, depth + 1)


def _holds_data(thing: Any) -> bool:
    """A dataset, a data module, or an object of a class of the person's, but no model."""
    kinds = [c.__name__ for c in type(thing).__mro__]
    if "Module" in kinds and "LightningDataModule" not in kinds or "Optimizer" in kinds:
        return False
    module = summarise.module(type(thing).__module__)
    return "Dataset" in kinds or "LightningDataModule" in kinds or bool(module is not None and is_users(getattr(module, "__file__", None) or "<>"))


def pairs(held: list[Held]) -> Iterator[Pair]:
    """Features and labels of equal length, those of one object first; and tables with the columns of both are no business of ours here."""
    arrays = [h for h in held if _is_features(h.thing)]
    labels = [h for h in held if _is_labels(h.thing)]
    frames = [h.thing for h in held if summarise.is_frame(h.thing) and LEAST <= summarise.height(h.thing) <= MOST_ROWS]
    for x in arrays:
        n = summarise.height(x.thing)
        fits = [h for h in labels if len(h.thing) == n]
        fits = [h for h in fits if h.owner == x.owner] or fits
        if fits and all(_same(fits[0].thing, h.thing) for h in fits[1:]):  # with several unlike, which are the labels is not known
            yield Pair(x.thing, fits[0].thing, x.name, fits[0].name, partial(columns_of, frames, n))


def _same(a: Any, b: Any) -> bool:
    """The same labels in two containers?"""
    one, other = codes_of(a), codes_of(b)
    return one is not None and other is not None and np.array_equal(one, other)


def _is_features(thing: Any) -> bool:
    shape = getattr(thing, "shape", None)
    if summarise.library(thing) not in ("numpy", "torch") or shape is None or len(shape) < 2 or not LEAST <= shape[0] <= MOST_ROWS or 0 in shape:
        return False
    if summarise.library(thing) == "torch":
        return bool(thing.device.type == "cpu" and str(thing.layout) == "torch.strided" and (thing.dtype.is_floating_point or thing.element_size() == 1))
    return thing.dtype.kind == "f" or thing.dtype == np.uint8


def _is_labels(thing: Any) -> bool:
    if isinstance(thing, (list, tuple)):
        return True
    shape = getattr(thing, "shape", None)
    if shape is None or len(shape) != 1 or not LEAST <= shape[0] <= MOST_ROWS or summarise.library(thing) not in ("numpy", "torch"):
        return False
    if summarise.library(thing) == "torch":
        return bool(thing.device.type == "cpu" and not thing.dtype.is_floating_point and thing.element_size() >= 4)
    return thing.dtype.kind in "iuOU"


def columns_of(frames: list[Any], rows: int) -> dict[str, np.ndarray]:
    """Columns of the tables with so many rows; the widest table stands for those that it was put together from."""
    found: dict[str, np.ndarray] = {}
    same = [f for f in frames if summarise.height(f) == rows]
    for frame in sorted(same, key=lambda f: -len(summarise.columns_of(f)))[:3]:
        for name in summarise.columns_of(frame)[:12]:
            try:
                found.setdefault(name, summarise.column(frame, name))
            except Exception:  # nested values
                continue
    return found


def judge(recorder: Recorder, pair: Pair, others: Sequence[Any] = ()) -> None:
    """Do the labels of a pair agree with its features, stretch by stretch? `others` are features of as many rows that they may be of instead."""
    codes = codes_of(pair.y)
    if codes is None or codes.max() < 1:
        return
    rows = agreement.looked_at(len(codes))
    some = pair.x(rows) if callable(pair.x) else some_of(pair.x, rows)
    found = agreement.of_classes(some, codes, lambda: orders_of(pair.beside(), codes))
    if found is None:
        if not callable(pair.x):
            answers.of(recorder, lineage.of(recorder)).paired(pair.x, pair.y)
        return
    if found["kind"] == "order" and any(confirmed(some_of(x, rows), codes[rows]) for x in others):
        return  # the labels of other features, in their order
    columns = pair.beside()
    first, last = _snapped(found["first"], found["last"], columns)
    known = None if callable(pair.x) else lineage.of(recorder).known_of(pair.x, create=False)
    source = known.source.name if known is not None and known.source.as_read else None
    told = {**found, "first": first, "last": last, "features": pair.x_name, "labels": pair.y_name, "table": source,
            "labels_from": column_of(codes, columns), "where": _where(first, last, columns)}  # fmt: skip
    whole = found["kind"] == "order" and found["agreement_elsewhere"] is None
    file, line = (authorship.listing() if whole else None) or authorship.assigned(pair.x_name) or (None, None)
    recorder.fact("label_agreement", told, file=file, line=line)


def some_of(x: Any, rows: np.ndarray) -> np.ndarray:
    """Some rows of an array or tensor."""
    return x[rows] if isinstance(x, np.ndarray) else _numpy(x[summarise.module("torch").from_numpy(rows)])


def confirmed(x: np.ndarray, codes: np.ndarray) -> bool:
    """Do the nearest rows have the same label far oftener than chance?"""
    few = slice(0, CONFIRMING)
    features, codes = agreement.prepared(x[few]), codes[few]
    if not features.shape[1] or len(codes) < LEAST:
        return False
    told, _ = agreement.votes(codes, agreement.neighbours(features, features, 5, same=True), int(codes.max()) + 1)
    chance = float((np.bincount(codes) / len(codes)).max())
    return float((told == codes).mean()) > chance + (1 - chance) / 2


def _numpy(x: Any) -> np.ndarray:
    some = x.detach()
    return np.asarray(some.float().numpy() if some.dtype.is_floating_point else some.numpy())


def codes_of(y: Any) -> np.ndarray | None:
    """Labels as integers from 0; None where they are no classes."""
    try:
        held = y.detach().numpy() if summarise.library(y) == "torch" else np.asarray(y)
    except Exception:
        return None
    if held.dtype.kind == "O":
        if not all(isinstance(v, str) for v in held[:50]):
            return None
        held = held.astype(str)
    if held.ndim != 1 or held.dtype.kind not in "iuUb":
        return None
    some = held[:: max(1, len(held) // 2000)]
    if len(np.unique(some)) > 60:
        return None
    levels, codes = np.unique(held, return_inverse=True)
    return codes if len(levels) <= 60 else None


def orders_of(columns: dict[str, np.ndarray], codes: np.ndarray) -> dict[str, np.ndarray]:
    """Orders in which the labels might stand: by their row number as text, backwards, or by a column at hand that is no label."""
    n = len(codes)
    found = {"the order of row numbers as text": np.array(sorted(range(n), key=str)), "the order of row numbers from 1 as text": np.array(
        sorted(range(n), key=lambda i: str(i + 1))), "the order of rows backwards": np.arange(n)[::-1]} if n <= 200_000 else {}  # fmt: skip
    for name, values in columns.items():
        if len({v for v in values[:200].tolist()}) > 100 and n <= 200_000:
            try:
                found[f"the order of {name}"] = np.argsort(values, kind="stable")
            except TypeError:
                continue
    return found


def _snapped(first: int, last: int, columns: dict[str, np.ndarray]) -> tuple[int, int]:
    """The ends of a stretch moved to the ends of a run of some column's value, if those are near."""
    near = max(4, (last - first) // 50)
    for values in columns.values():
        edges = np.flatnonzero(values[1:] != values[:-1]) + 1
        if 0 < len(edges) <= 100:
            ends = np.concatenate(([0], edges, [len(values)]))
            a, b = int(ends[np.abs(ends - first).argmin()]), int(ends[np.abs(ends - last - 1).argmin()])
            if abs(a - first) <= near and abs(b - 1 - last) <= near and b > a:
                return a, b - 1
    return first, last


def _where(first: int, last: int, columns: dict[str, np.ndarray]) -> dict[str, str]:
    """Columns that hold one value in the stretch and others elsewhere."""
    found = {}
    for name, values in columns.items():
        inside = values[first : last + 1]
        if (inside == inside[0]).all() and not (values == inside[0])[np.r_[0:first, last + 1 : len(values)]].any():
            found[name] = str(inside[0])[:60]
    return dict(list(found.items())[:3])


def column_of(codes: np.ndarray, columns: dict[str, np.ndarray]) -> str | None:
    """The column at hand that the labels were made of."""
    for name, values in columns.items():
        try:
            levels, other = np.unique(values.astype(str) if values.dtype.kind == "O" else values, return_inverse=True)
        except TypeError:
            continue
        if 1 < len(levels) <= 60 and len(np.unique(codes * 64 + other)) == max(len(levels), int(codes.max()) + 1):
            return name
    return None
