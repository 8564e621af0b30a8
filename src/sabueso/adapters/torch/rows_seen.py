"""Rows seen: which rows of which data set training steps learnt from, and which were only judged, by the loaders' own indices."""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any

import numpy as np
from torch.utils import data as torch_data

from ...capture import lineage
from ...capture.lineage import order, sight, uses
from ...capture.lineage.known import Known
from ...capture.lineage.registry import shape_of
from ...capture.shuffled import Passed
from . import entities_seen, splits
from .watch import Watch

PART = "rows_seen"
MOST_ROWS = 2_000_000
MOST_DATASETS = 60
FORWARDS = 24  # rows given straight to the network that are looked for, in one run
LEAST = 20
MOST_PARTS = 6  # of one data set that are judged apart
MOST_BATCHES = 20_000  # of one pass


class Rows:
    """The rows of one data set: their ids, and what a loader of it is called."""

    __slots__ = ("known", "seen", "name", "file", "line", "origin", "loaders", "beside", "cut", "split", "part", "drawn")

    def __init__(self, known: Known) -> None:
        self.known = known
        self.seen: dict[Any, list[np.ndarray]] = {}  # by the optimizer's number: positions judged after it had stepped, parts apart
        self.name: str | None = None
        self.file: str | None = None
        self.line: int | None = None
        self.origin: sight.Origin = []
        self.loaders: set[int] = set()
        self.beside: entities_seen.Beside | None = None
        self.cut: np.ndarray | None = None  # positions in the whole data set
        self.split: tuple[Any, ...] | None = None  # the call that cut them off: its number, file, line
        self.part: dict[str, Any] | None = None  # name, file and line of the row numbers that it is made of
        self.drawn: list[tuple[np.ndarray, dict[str, Any]]] = []  # the same for row numbers that samplers draw from it

    def judge(self, last: Any, seen: np.ndarray) -> None:
        """A pass judged these positions: of one part with those that hold it or lie within it (samplers draw several parts from one data set)."""
        parts = self.seen.setdefault(last, [])
        met = [p for p in parts if not (p & ~seen).any() or not (seen & ~p).any()]
        for part in met:
            seen |= part
        parts[:] = [p for p in parts if not any(p is m for m in met)][: MOST_PARTS - 1] + [seen]


class Pass:
    """What one pass over a loader (its iterator) gave out since the last backward that it fed."""

    __slots__ = ("iterator", "rows", "sampler", "indices", "last", "fed", "doubtful")

    def __init__(self, iterator: Any, rows: Rows, sampler: int) -> None:
        self.iterator, self.rows, self.sampler = weakref.ref(iterator), rows, sampler
        self.indices: list[Any] = []
        self.last: Any = None  # number of the optimizer that had stepped last
        self.fed = False  # was a backward made of a batch of it?
        self.doubtful = False  # did a batch of another pass come between its own and a backward?

    def done(self) -> bool:
        """Has it given all that it has, or is it gone?"""
        iterator = self.iterator()
        try:
            return iterator is None or iterator._num_yielded >= len(iterator)
        except (TypeError, AttributeError):
            return False


class RowsSeen:
    """What loaders gave out: learnt from where a backward follows, judged where none does in a whole pass.

    Libraries fetch batches ahead, and one step may take several: between two batches of a pass there need be no backward.
    """

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.lineage = lineage.of(watch.recorder)
        self.uses = uses.of(watch.recorder, self.lineage)
        self.sets: dict[int, tuple[Any, Rows | None]] = {}  # by id of the data set: weak reference, rows
        self.all: list[Rows | None] = []
        self.passes: dict[int, Pass] = {}  # by id of the iterator
        self.newest: Pass | None = None  # that gave the last batch, until a backward
        self.learnt: list[tuple[Rows, Any]] = []
        self.trained: dict[Any, dict[int, tuple[Rows, np.ndarray]]] = {}  # by optimizer's number
        self.training: set[int] = set()  # index samplers of loaders trained from
        self.last: Any = None
        self.forwards: dict[Any, list[tuple[Known, sight.Origin]]] = {}  # by optimizer's number: rows judged by no loader
        self.tried: dict[int, int] = {}  # by line: forwards met there
        self.unread: dict[str, Any] = {}
        self.orders: deque[Passed] = deque(maxlen=4)
        self.recorder.shared["passes"] = self.whole_passes
        self.recorder.at_exit(self.tell)

    # ---- batches

    def on_batch(self, held: Any, batch: Any) -> None:
        dataset, iterator = held.dataset, held.iterator()
        if self.newest is None or self.newest.iterator() is not iterator:
            self.judged()
        if dataset is None or held.indices is None or len(self.sets) > MOST_DATASETS:
            return
        rows = self.rows_of(dataset)
        if rows is None or isinstance(held.indices, list) and max(held.indices, default=0) >= rows.known.rows:
            return  # a data set's length may be wrong: Keras, asked to predict, gives that of a row
        sampler = id(getattr(iterator, "_index_sampler", None))
        if sampler not in rows.loaders:
            rows.loaders.add(sampler)
            self.meet(rows, dataset, iterator, held.indices)
            if rows.beside is None and self.recorder.wants("groups_shared"):
                self.entities(rows, dataset, held.indices, batch)
        running = self.passes.get(id(iterator))
        if running is None or running.iterator() is not iterator:
            running = self.passes[id(iterator)] = Pass(iterator, rows, sampler)
        running.last = self.last
        if len(running.indices) < MOST_BATCHES:
            running.indices.append(held.indices)
        self.newest = running
        self.watch.at_next("after_backward", PART, self.after_backward)

    def entities(self, rows: Rows, dataset: Any, indices: Any, batch: Any) -> None:
        """What lies beside the rows of a data set of the person's own, or of the one that it is a part of."""
        rows.cut = np.arange(rows.known.rows)
        while isinstance(dataset, torch_data.Subset):
            rows.cut, dataset = np.asarray(dataset.indices)[rows.cut], dataset.dataset
        whole = self.rows_of(dataset)
        if whole is not None and isinstance(indices, list):
            rows.beside = entities_seen.beside(dataset, whole.known, rows.cut[indices], batch)

    def after_backward(self, tensors: Any, arguments: Any) -> None:
        feeds, self.newest = self.newest, None
        if feeds is not None:
            if len(self.learnt) < 512:
                self.learnt += [(feeds.rows, indices) for indices in feeds.indices]
            feeds.indices, feeds.fed = [], True
            self.training.add(feeds.sampler)
            for other in self.passes.values():
                other.doubtful = other.doubtful or bool(other.indices) and not other.done()
            self.watch.at_next("after_step", PART, self.after_step)

    def after_step(self, optimizer: Any) -> None:
        held = self.watch.optimizers.get(id(optimizer))
        number = held.number if held is not None else 0
        self.last = number
        of = self.trained.setdefault(number, {})
        for rows, indices in self.learnt:
            known = of.get(id(rows))
            if known is None:
                known = of[id(rows)] = rows, np.zeros(rows.known.rows, bool)
            known[1][indices] = True
        self.learnt.clear()

    def judged(self, end: bool = False) -> None:
        """Passes that are over and fed no backward were judged, by what the last optimizer had made."""
        for key, over in list(self.passes.items()):
            if not end and not over.done():
                continue
            del self.passes[key]
            if over.fed or over.doubtful or over.last is None:
                continue
            seen = np.zeros(over.rows.known.rows, bool)
            for indices in over.indices:
                seen[indices] = True
            over.rows.judge(over.last, seen)
            if (passed := in_other_order(over)) is not None:
                self.orders.append(passed)

    def whole_passes(self) -> list[Passed]:
        """The last whole passes that fed no training and were not in the order of the rows, newest first; what has just ended is among them."""
        ended = [in_other_order(p) for p in self.passes.values() if p.done() and not (p.fed or p.doubtful or p.last is None)]
        return [*filter(None, ended[::-1]), *list(self.orders)[::-1]]

    def on_evaluation(self, root: Any, inputs: Any, outputs: Any) -> None:
        """Rows of an array that a loader trains from, given to the network as they are once it had learnt."""
        x = inputs[0] if isinstance(inputs, (tuple, list)) and inputs else inputs
        shape = shape_of(x)
        if self.newest is not None or self.last is None or shape is None or len(shape) < 2 or not LEAST <= shape[0] <= MOST_ROWS:
            return
        origin = sight.origin()
        at = origin[0][1] if origin else 0
        self.tried[at] = self.tried.get(at, 0) + 1
        if self.tried[at] > 2 and len(self.forwards.get(self.last, ())) or sum(self.tried.values()) > FORWARDS:
            return
        known = self.lineage.known_of(x, create=False)
        if known is not None and (known.ids >= 0).mean() > 0.95 and any(r.known.source is known.source for r in self.all if r is not None):
            self.forwards.setdefault(self.last, []).append((known, origin))

    # ---- data sets

    def rows_of(self, dataset: Any) -> Rows | None:
        held = self.sets.get(id(dataset))
        if held is None or held[0]() is not dataset:
            known = self.known(dataset)
            held = self.sets[id(dataset)] = uses.reference(dataset), Rows(known) if known is not None else None
            self.all.append(held[1])
            if held[1] is not None and (cuts := self.watch.parts.get(splits.PART)) is not None:
                held[1].split, held[1].part = cuts.call_of(dataset), cuts.cuts.get(dataset)
        return held[1]

    def known(self, dataset: Any, depth: int = 4) -> Known | None:
        """Which rows a data set holds: those of its arrays, of the set that it is a part of, or its own."""
        try:
            n = len(dataset)
        except Exception:  # a set of the person's or a library's own that can't tell: of Keras, one of inputs by name
            return None
        if not 2 <= n <= MOST_ROWS or not depth:
            return None
        if isinstance(dataset, torch_data.Subset):
            whole = self.whole(dataset.dataset, depth)
            return part(whole, np.asarray(dataset.indices)) if whole is not None else None
        arrays = dataset.tensors if isinstance(dataset, torch_data.TensorDataset) else list(getattr(dataset, "__dict__", {}).values())
        for x in arrays:
            shape = shape_of(x)
            if shape is not None and shape[0] == n and (len(shape) > 1 or isinstance(x, list)):
                found = self.lineage.known_of(x)
                if found is not None and (found.ids >= 0).mean() > 0.9:
                    return found
        return self.lineage.allocate(n, type(dataset).__name__)

    def whole(self, dataset: Any, depth: int) -> Known | None:
        rows = self.rows_of(dataset) if depth > 1 else None
        if rows is not None and not rows.known.source.whole and rows.known.rows == rows.known.source.rows:
            rows.known.source.kind = "made"  # what is cut into parts is the whole
        return rows.known if rows is not None else None

    def meet(self, rows: Rows, dataset: Any, iterator: Any, indices: Any) -> None:
        """A loader begins: what the person calls it, which data sets lie beside it, and whether it goes along sorted labels."""
        rows.origin = sight.origin()
        sampler = getattr(iterator, "_index_sampler", None)
        for frame in sight.user_frames():
            for name, value in list(frame.f_locals.items()):
                if isinstance(value, torch_data.DataLoader) and getattr(value, "_index_sampler", None) is sampler and sampler is not None:
                    rows.name, rows.file, rows.line = name, frame.f_code.co_filename, sight.assigned(frame, name)[0]
                elif isinstance(value, torch_data.Dataset) and not isinstance(value, torch_data.IterableDataset):
                    self.unread.setdefault(name, uses.reference(value))
        self.in_order(rows, dataset, indices, id(sampler))
        cuts, draws = self.watch.parts.get(splits.PART), getattr(sampler, "sampler", None)
        found = cuts.cuts.get(draws) if cuts is not None and draws is not None and len(rows.drawn) < MOST_PARTS else None
        if found is not None:
            rows.drawn.append((np.asarray(draws.indices), found))  # type: ignore[union-attr]

    def in_order(self, rows: Rows, dataset: Any, indices: Any, sampler: int) -> None:
        """Batches in the order of the rows, and labels sorted along them?"""
        if not isinstance(indices, list) or len(indices) < 2 or indices != list(range(len(indices))) or not self.recorder.wants("label_order"):
            return
        batch, n = len(indices), rows.known.rows
        tensors = dataset.tensors if isinstance(dataset, torch_data.TensorDataset) else list(getattr(dataset, "__dict__", {}).values())
        for y in list(tensors)[::-1]:
            held = order.codes_of(y) if (shape_of(y) or (0,))[0] == n else None
            if held is None or not held[1] or n < 4 * batch or not order.is_sorted(*held):
                continue
            values = held[0]
            alone = float(np.mean([len(np.unique(values[i : i + batch])) == 1 for i in range(0, n, batch)]))
            name = rows.name or "the loader"
            told = {"how": "batches", "sorted": True, "lacking": round(alone, 4), "runs": order.runs(values), "levels": len(np.unique(values)),
                    "levels_train": len(np.unique(values)), "name": name, "rows": list(range(min(50, n))), "judged": 0,
                    "batches": -(-n // batch), "sampler": sampler,
                    "remedy": f"Shuffle in the loader: {name} = DataLoader(.., batch_size={batch}, shuffle=True)"}  # fmt: skip
            rows.known.notes["ordered"] = told
            return

    # ---- the end

    def tell(self) -> None:
        """One pair for each training and each data set judged after it."""
        self.judged(end=True)
        for number, of in self.trained.items():
            learnt = [(rows, mask) for rows, mask in of.values() if mask.any()]
            for rows, _ in learnt:
                told = rows.known.notes.pop("ordered", None)
                if told is not None and told.pop("sampler") in self.training:
                    where = {"file": rows.file, "line": rows.line} if rows.line else {}
                    self.recorder.fact("label_order", told, stage="preprocess", **where)
            known = joined([part(rows.known, np.flatnonzero(mask)) for rows, mask in learnt])
            if known is None:
                continue
            fit = uses.Fit(10_000 + number, "the network", known, uses.unique(known), learnt[0][0].origin, True)
            self.uses.history.append(fit.ids)
            for rows in self.all:
                for seen in rows.seen.get(number, ()) if rows is not None else ():
                    if seen.sum() >= 5:
                        self.pair(fit, rows, seen, learnt)  # type: ignore[arg-type]
            for judged, origin in self.forwards.get(number, ()):
                self.uses.evaluated(fit, judged, None, origin, "forward", scored=False)
        self.left_over()

    def pair(self, fit: uses.Fit, rows: Rows, seen: np.ndarray, learnt: list[tuple[Rows, np.ndarray]]) -> None:
        origin = [(rows.file, rows.line, "", 0), *rows.origin] if rows.line and rows.file else rows.origin
        judged = part(rows.known, np.flatnonzero(seen))
        both = next((m for r, m in learnt if r is rows), np.zeros(0, bool))
        judged.notes["part"] = rows.part or next((p for at, p in rows.drawn if seen[at].all() and len(both) and 0 < both[at].mean() < 1), None)
        if judged.source.kind == "held" and rows.known.rows == judged.source.rows and len(both):
            judged.source.kind = "made"  # both sides are positions in the one data set: the same position is the same row
        judged.notes["split_again"] = splits.again(self.split_of(rows), {self.split_of(r) for r, _ in learnt}, self.ever_learnt())
        self.uses.evaluated(fit, judged, None, origin, "loader", scored=True)
        self.through(rows, seen, learnt, origin)

    def split_of(self, rows: Rows) -> tuple[Any, ...] | None:
        """The call that cut these rows off."""
        rows.split = rows.split or splits.among(rows, self.lineage.parts.get("splits", ()))
        return rows.split

    def ever_learnt(self) -> set[tuple[Any, ...] | None]:
        """The calls that cut off what any training learnt from."""
        return {self.split_of(rows) for of in self.trained.values() for rows, mask in of.values() if mask.any()}

    def through(self, rows: Rows, seen: np.ndarray, learnt: list[tuple[Rows, np.ndarray]], origin: sight.Origin) -> None:
        """Do the rows learnt from and those judged, parts of one data set, hold rows of the same entities?"""
        mine = [(r, mask) for r, mask in learnt if r.beside is not None]
        if rows.beside is None or not mine or not self.recorder.once("entities", rows.known.source.base, rows.known.width):
            return
        train, known = np.unique(np.concatenate([r.cut[mask] for r, mask in mine])), rows.beside.known  # type: ignore[index]
        told = entities_seen.look(rows.beside, train, np.flatnonzero(np.isin(np.arange(known.rows), rows.cut[seen])))  # type: ignore[index]
        if told is not None and all(r.beside.known is known for r, _ in mine):  # type: ignore[union-attr]
            where = {"file": origin[0][0], "line": origin[0][1]} if origin else {}
            self.recorder.fact("groups_shared", told | {"model": "the network", "table": known.source.name, "part": None}, stage="evaluate",
                               column=told["column"], **where)  # fmt: skip

    def left_over(self) -> None:
        """Data sets that the person holds and that no loader ever read."""
        held = [d for ref, _ in self.sets.values() if (d := ref()) is not None]
        for name, ref in self.unread.items():
            dataset = ref()
            if dataset is None or any(d is dataset or getattr(d, "dataset", None) is dataset for d in held):
                continue
            self.recorder.fact("held_out", {"rows": len(dataset), "name": name, "used": False, "of": 0}, stage="evaluate", file="", line=None)


def in_other_order(over: Pass) -> Passed | None:
    """The order of a whole pass, if it is not that of the rows."""
    drawn, rows = np.concatenate([np.asarray(i).reshape(-1) for i in over.indices] or [np.zeros(0, int)]), over.rows
    if len(drawn) != rows.known.rows or not (drawn[1:] < drawn[:-1]).any():
        return None
    return Passed(drawn, rows.name, rows.file, rows.line)


def part(known: Known, positions: np.ndarray) -> Known:
    """Some rows of what is known."""
    table = known.table.take(positions) if known.table is not None else None
    made = Known(known.ids[positions], known.source, known.width, known.names, known.makers, known.resampled, None, known.exact, table)
    return made


def joined(parts: list[Known]) -> Known | None:
    """Several sets of rows as one."""
    if not parts:
        return None
    first = parts[0]
    parts = [first, *(p for p in parts[1:] if not np.isin(p.ids, first.ids).all())]  # a set made anew each epoch holds the same rows
    if len(parts) == 1:
        return first
    return Known(np.concatenate([p.ids for p in parts]), first.source, first.width, first.names, first.makers, first.resampled, exact=first.exact)


def install(watch: Watch) -> None:
    """Hang on the loader's batches, the backwards and the steps."""
    if not watch.recorder.wants("row_use", "label_order"):
        return
    seen = RowsSeen(watch)
    watch.parts[PART] = seen
    watch.hang("on_batch", PART, seen.on_batch)
    watch.hang("on_evaluation", PART, seen.on_evaluation)
