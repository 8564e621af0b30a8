"""Flow: everything that reaches fit against everything that reaches predict, transform and score, rows in order.

Adapters tell `fitted`, `fed` and `answered`; metrics tell `truth`. At fit an exact bounded sketch of each column is kept; what comes later
from one line of the program is one stream. At the program's end each stream is laid beside the sketch and becomes one fact `inputs`.
"""

from __future__ import annotations

import time
import weakref
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from .. import drift
from . import deriving, fed_twice, parted, served
from .clock import links_of, offsets_now
from .columns import Reference, beside, columns, gathered, names_of, positions, reference
from .lineage.fingerprints import spaced
from .moments import look
from .naming import names_by_value, names_made
from .order import Orders
from .origin import user_line
from .outputs import MOST, Output, Outputs, plain
from .recorder import Recorder
from .remembering import Memory, meet, tell
from .requests import current
from .streams import Copies, Made, Model, Stream, joined
from .summarise import height

CALL_ROWS = 20_000  # rows kept of one call, evenly spread
MOST_CELLS = 2_000_000  # of all streams together
MOST_STREAMS = 60
SECONDS = 0.25  # of our CPU time before streams are thinned
SMALL = 8  # rows: such calls are kept as they come and read later together


class Flow:
    """All models and streams of a process. One a recorder: `Flow.of(recorder)`."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder, self.outputs = recorder, Outputs()
        self.models: dict[int, Model] = {}
        self.streams: dict[Any, Stream] = {}
        self.made: dict[int, Made] = {}  # by id of a transformer's answer
        self.memories: dict[int, tuple[Any, Memory | None]] = {}  # of models that were fitted elsewhere
        self.recalled: dict[Any, tuple[Memory, Stream]] = {}
        self.sketches: dict[Any, Reference] = {}  # of columns, by their content
        self.cells, self.spent, self.count, self.fits = 0, 0.0, 0, 0
        self.copies, self.orders = Copies(), Orders()
        self.told_of: dict[Any, tuple[np.ndarray, dict[str, Any] | None]] = {}  # what stood out in a column of rows, by what it was held against
        recorder.at_exit(self.finish)

    @classmethod
    def of(cls, recorder: Recorder) -> Flow:
        """The one of this process."""
        held = recorder.shared.get("flow")
        if held is None:
            held = recorder.shared["flow"] = cls(recorder)
        return held

    # ---- what adapters tell

    def model(self, owner: Any, make: bool = True) -> Model | None:
        """The record of an estimator."""
        known = self.models.get(id(owner))
        if known is not None and known.ref() is owner:
            return known
        if not make:
            return None
        self.count += 1
        kind = getattr(owner, "_estimator_type", None) or ("classifier" if hasattr(owner, "classes_") or hasattr(owner, "predict_proba") else "")
        made = self.models[id(owner)] = Model(self.count, type(owner).__name__, _weak(owner), kind == "classifier")
        return made

    def fitted(self, owner: Any, x: Any, y: Any = None, names: list[str] | None = None, again: bool = False) -> Model:
        """A fit begins, on these rows; `again` where it goes on from the last one."""
        began = time.thread_time()
        look(self.recorder)
        model = self.model(owner)
        model.fits, self.fits = model.fits + (not again), self.fits + 1
        model.loaded = ""
        model.file, model.line = user_line()
        model.made_by, model.coded_by = self.maker(x), self.maker(y)
        got = columns(x) if x is not None else None
        model.rows = height(x) if hasattr(x, "shape") or isinstance(x, (list, tuple)) else 0
        if got is not None:
            model.names = names or names_of(x)
            model.named = model.names is not None
            model.names = model.names or (model.made_by.names if model.made_by is not None else None) or self._named(model, got, model.rows)
            self.orders.fitted(model.number, [] if model.named else got)
            model.columns = [reference(_name(model.names, j), j, c, self.sketches) for j, c in enumerate(gathered(got))]
            model.target, model.clock, model.parted = self._target(y), links_of(got), parted.telling(got, y) if self.spent < SECONDS else []
        self.spent += time.thread_time() - began
        return model

    def _named(self, model: Model, columns: list[np.ndarray], rows: int) -> list[str] | None:
        """The names of an array's columns, by the tables at hand from which they are derived, row by row, or in which their values lie."""
        if self.spent < SECONDS:
            model.derived = deriving.derived_at_hand(columns, rows)
        return deriving.named(self.recorder, columns, rows, model.derived) if self.spent < 4 * SECONDS else None  # one of many fits

    def held(self, x: Any, y: Any) -> Model:
        """The sketch of rows that a model not yet there is trained on."""

        coming = type("Coming", (), {})()  # stands for the model until it is there
        model = self.fitted(coming, x, y)
        self.models.pop(id(coming), None)
        return model

    def adopt(self, owner: Any, model: Model, classifier: bool = False) -> None:
        """The model that came of it."""
        model.cls, model.ref, model.classifier = type(owner).__name__, _weak(owner), classifier
        self.models[id(owner)] = model

    def adopt_copy(self, owner: Any, model: Model, path: str) -> None:
        """A model read from a file is the one that was written there."""
        self.models[id(owner)] = replace(model, ref=_weak(owner), loaded=path)

    def _target(self, y: Any) -> Reference | None:
        got = columns(y) if y is not None else None
        return reference(str(getattr(y, "name", None) or "target"), 0, got[0]) if got else None

    def batch(self, owner: Any, x: Any, target: Any = None) -> None:
        """A training batch of a network: its rows join the sketch."""
        model = self.model(owner)
        if model.rows >= CALL_ROWS:
            return
        got = columns(x)
        if got is None or not all(c.dtype.kind in "iufb" for c in got):
            return
        if not model.batches:
            look(self.recorder)
            model.file, model.line = user_line()
            model.names = model.names or self._named(model, got, len(got[0]))
        model.batches.append([np.array(c[:CALL_ROWS], dtype=np.float32) for c in got])
        model.rows += len(got[0])

    def fed(self, owner: Any, method: str, x: Any, names: list[str] | None = None) -> tuple[Stream, int] | None:
        """Rows reach a model. Returns the stream and the place of the first of them in it."""
        began = time.thread_time()
        model = self.model(owner, make=False)
        if model is None or x is None:
            if x is not None:
                self._recall(owner, method, x)
                self.spent += time.thread_time() - began
            return None
        stream = self._stream(model, method)
        if stream is None:
            return None
        start = stream.rows
        self._take(stream, x, names)
        self.spent += time.thread_time() - began
        return stream, start

    def _recall(self, owner: Any, method: str, x: Any) -> None:
        """Rows reach a model that was fitted elsewhere: they are held against what its parts remember."""
        look(self.recorder)
        memory = meet(self.memories, owner, x)
        if memory is None:
            return
        file, line = user_line()
        key = (memory.model.number, file, line)
        if key not in self.recalled and len(self.recalled) < MOST_STREAMS:
            self.recalled[key] = memory, Stream(memory.model, method, file, line)
        if key in self.recalled:
            self._take(self.recalled[key][1], x, memory.names)

    def answered(self, owner: Any, method: str, result: Any, at: tuple[Stream, int] | None) -> None:
        """A model answered."""
        values = plain(result)
        if values is None or values.ndim > 2 or not len(values) or len(values) > 20 * MOST:
            return
        model = self.model(owner, make=False)
        stream, start = at if at is not None else (None, 0)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        kept = values if len(values) > MOST else np.array(values)
        scores = hasattr(owner, "predict_proba") or hasattr(owner, "decision_function")
        classifier = model.classifier if model is not None else False
        self.outputs.put(Output(type(owner).__name__, method, kept, 0, classifier, scores, stream, start), result)
        if stream is not None and values.ndim == 1 and sum(map(len, stream.answers)) < MOST:
            stream.answers.append(kept)

    def transformed(self, owner: Any, result: Any) -> None:
        """A transformer answered: who made this table?"""
        model = self.model(owner, make=False)
        if model is None or result is None or isinstance(result, (list, tuple)):
            return
        try:
            names = names_made(owner, result) if len(self.made) < MOST_STREAMS else None
            self.made[id(result)] = Made(weakref.ref(result), model.number, model.fits, model.rows, model.cls, model.file, model.line, _codes(owner), names)
        except TypeError:
            return
        if len(self.made) > 400:
            self.made = {k: v for k, v in self.made.items() if v.ref() is not None}

    def coded(self, ref: Any, codes: Any, number: int, cls: str, file: str | None, line: int | None, names: list[str]) -> None:
        """Labels were numbered by something that is no estimator."""
        self.made[id(codes)] = Made(ref, number, 1, len(codes), cls, file, line, names)

    def maker(self, x: Any) -> Made | None:
        """The fit of a transformer that made this table."""
        held = self.made.get(id(x))
        return held if held is not None and held.ref() is x else None

    def truth(self, output: Output, true: np.ndarray) -> None:
        """What should have been answered, told by a metric."""
        stream = output.stream
        if stream is not None and len(true) == len(output.values) and not stream.model.quantile:
            column = answered(output.values, true)
            stream.truth.add(output.start, true, column, output.method)

    # ---- streams

    def _stream(self, model: Model, method: str) -> Stream | None:
        file, line = user_line()
        step = self.recorder.step if method == "forward" else None
        key = (model.number, (model.fits, step), "transform" if method == "transform" else "answer", file, line)
        stream = self.streams.get(key)
        if stream is None and step is not None:  # the network has been trained on since: what it was asked before is another model's
            self.streams = {k: s for k, s in self.streams.items() if k[0] != model.number or k[1] == key[1]}
            self.cells = sum(len(rows) * len(got) for s in self.streams.values() for rows, got in s.blocks)
        if stream is None and len(self.streams) < MOST_STREAMS:
            stream = self.streams[key] = Stream(model, method, file, line)
        return stream

    def _take(self, stream: Stream, x: Any, names: list[str] | None) -> None:
        n = height(x)
        stream.calls += 1
        stream.single += n == 1
        request = current.get()
        stream.served = stream.served or request is not None
        if request is not None and len(stream.raw) < served.MOST_REQUESTS:
            stream.raw.append((request, stream.rows))
        if stream.made_by is None:
            stream.made_by = self.maker(x)
        if len(stream.starts) < 5000:
            stream.starts.append(stream.rows)
        if stream.model.clock and (n > 1 or stream.calls <= 300):
            self._clock(stream, x)
        thin = self.cells > MOST_CELLS or (self.spent > SECONDS and n > SMALL)
        if thin or self._small(stream, x, n, names):
            stream.rows += n
            return
        got = columns(x)
        if got is not None:
            stream.names = names or names_of(x) or stream.names
            self.orders.fed(stream, [] if stream.names else got)
            step = 1 if n <= CALL_ROWS else -(-2 * n // CALL_ROWS)  # of more, half as many show as much
            at = positions(x) if stream.calls == 1 or len(set(positions(x)[:2])) > 1 else np.arange(n)
            at = at + (0 if _is_indexed(x) else stream.rows)
            kept, new = self.copies.of([c[::step] for c in got])
            stream.blocks.append((at[::step], kept))
            self.cells += len(got) * (n // step) if new else 0
        stream.rows += n

    def _clock(self, stream: Stream, x: Any) -> None:
        """By how much parts of a time differ from the time beside them."""
        got = columns(x)
        for j, offsets in offsets_now(stream.model.clock, got).items() if got else ():
            stream.clock.setdefault(j, Counter()).update(offsets)

    def _small(self, stream: Stream, x: Any, n: int, names: list[str] | None) -> bool:
        """A call of a few rows is kept as it is."""
        if n > SMALL:
            return False
        if hasattr(x, "to_numpy"):
            stream.names = names or names_of(x) or stream.names
            block = np.array(x.to_numpy(), dtype=object)
        elif isinstance(x, np.ndarray) and x.ndim <= 2 and x.dtype.kind in "iufbOUS":
            block = x.copy()
        elif isinstance(x, (list, tuple)) and isinstance(x[0], (list, tuple, np.ndarray)):
            block = np.array([list(r) for r in x], dtype=object)
        else:
            return False
        block = block.reshape(n, -1)
        if stream.small and stream.small[0].shape[1] != block.shape[1]:
            return True
        stream.small.append(block)
        stream.small_rows.append(np.arange(n) + stream.rows)
        self.cells += block.size
        return True

    # ---- the end

    def finish(self) -> None:
        """One fact a stream."""
        for call in self.recorder.shared.get("before_told", ()):
            call()
        for stream in self.streams.values():
            told = self.told(stream)
            if told is not None:
                self.recorder.fact("inputs", told, stage="deploy" if stream.served else None, estimator=stream.model.cls,
                                   file=stream.file or "", line=stream.line)  # fmt: skip
        for memory, stream in self.recalled.values():
            stream.settle()
            tell(self.recorder, memory, stream, *joined(stream))
        fed_twice.look(self.recorder, self.streams.values())

    def told(self, stream: Stream) -> dict[str, Any] | None:
        """A stream beside what its model learnt from."""
        stream.settle()
        model = stream.model
        if not model.columns and model.batches:
            whole = [np.concatenate(c) for c in zip(*[b for b in model.batches if len(b) == len(model.batches[0])])]
            model.names = model.names or names_by_value(whole, len(whole[0]))
            model.columns = [reference(_name(model.names, j), j, c) for j, c in enumerate(whole)]
        rows, got = joined(stream)
        value = {"model": model.cls, "number": model.number, "method": stream.method, "rows": stream.rows, "calls": stream.calls,
                 "single": stream.single, "served": stream.served, "loaded": model.loaded, "fit_rows": model.rows, "fit_file": model.file,
                 "fit_line": model.line, "classifier": model.classifier, "names": model.names, "fed_names": stream.names,
                 "width": len(model.columns), "fed_width": len(got), "named": model.named, "starts": stream.starts[:500],
                 "made_by": model.made_by and model.made_by.told(), "fed_by": stream.made_by and stream.made_by.told()}  # fmt: skip
        value["training"] = stream.rows == model.rows and bool(got) and all(_same(r, c) for r, c in zip(model.columns[:6], got))
        value["columns"] = self._columns(model, got, rows)
        value["skipped"] = self._skipped(model, got)
        if len(got) == len(model.columns):
            value["order"] = self.orders.of(model.columns, got, value["columns"])
        value["apart"] = self.orders.apart.get(id(stream))
        value["answers"] = self._answers(stream)
        value["truth"] = stream.truth.told(rows, got, model.columns, model.target)
        stream.truth.beside_new(value["columns"], got)
        parted.look(self.recorder, model.parted, got, stream, model)
        value["clock"] = [{"column": _name(model.names, j), "raw": model.clock[j][0], "part": model.clock[j][1],
                           "fit": dict(model.clock[j][2]), "now": dict(now)} for j, now in stream.clock.items()]  # fmt: skip
        return value | served.told(stream, model, got)

    def _columns(self, model: Model, got: list[np.ndarray], rows: np.ndarray) -> list[dict[str, Any]]:
        """What stands out by column; rows that a model is asked of twice (its answers, then their score) are looked at once."""
        found, at = [], hash(rows.tobytes())
        for ref, column in zip(model.columns, got):
            key = (id(ref.stock), id(ref.levels), id(column), at, ref.text)
            if key not in self.told_of:
                self.told_of[key] = column, beside(ref, column, rows)  # the column too: its place in memory is not to be another's
            told = self.told_of[key][1]
            if told is not None:
                found.append({**told, "name": ref.name, "index": ref.index})
        return found

    def _skipped(self, model: Model, got: list[np.ndarray]) -> dict[str, Any] | None:
        """Do the rows look like what the transformer before the model was given, and not like what it made?"""
        before = next((m for m in self.models.values() if model.made_by is not None and m.number == model.made_by.number), None)
        if before is None or not len(before.columns) == len(model.columns) == len(got) or any(r.text for r in [*before.columns, *model.columns]):
            return None
        kept = {j: got[j][np.isfinite(got[j])] for j in spaced(len(got), 12)}  # columns: a step that is left out shows in all of them
        own, raw = ([drift.effect(refs[j].counts, refs[j].counts_of(c)) for j, c in kept.items()] for refs in (model.columns, before.columns))
        return {"class": before.cls, "file": before.file, "line": before.line, "effect": float(np.mean(own)), "effect_before": float(np.mean(raw))}

    def _answers(self, stream: Stream) -> dict[str, Any] | None:
        """The answers beside the target at fit."""
        numeric = [a for a in stream.answers if a.dtype.kind in "iufb"]
        if not numeric:
            return None
        whole = np.concatenate(numeric).astype(np.float64)
        target, told = stream.model.target, {"count": len(whole), "mean": float(whole.mean()), "sd": float(whole.std())}
        if target is not None and not target.text and stream.method == "predict" and len(target.stock):
            found = drift.numbers(drift.count(target.stock, target.inner), drift.count(whole, target.inner))
            told |= {"target_mean": target.mean, "target_sd": target.sd, "effect": found.effect, "p": found.p}
        return told


def answered(values: np.ndarray, true: np.ndarray) -> np.ndarray:
    """The one answer of a row: of scores by class the class, where the truth is a class, of two classes the score of the second."""
    if values.ndim == 1:
        return values
    classes = values.shape[1] > 2 and true.dtype.kind in "iu" and 0 <= true.min() and true.max() < values.shape[1]
    return values.argmax(1) if classes else values[:, -1]


def _same(ref: Reference, column: np.ndarray) -> bool:
    """Are these the rows of the fit?"""
    if ref.text or column.dtype.kind == "O":
        return ref.text == (column.dtype.kind == "O")
    good = column[np.isfinite(column)] if column.dtype.kind == "f" else column
    return len(good) == ref.count - ref.missing and (not len(good) or abs(float(good.mean()) - ref.mean) <= 1e-9 * (abs(ref.mean) + ref.sd))


def _codes(owner: Any) -> list[str] | None:
    """The classes of a fitted encoder of labels, in the order of their codes."""
    classes = getattr(owner, "classes_", None)
    return [str(c) for c in classes[:200]] if isinstance(classes, np.ndarray) and classes.ndim == 1 else None


def _name(names: list[str] | None, j: int) -> str:
    return names[j] if names is not None and j < len(names) else f"column {j}"


def _is_indexed(x: Any) -> bool:
    return hasattr(x, "iloc") and getattr(x.index.dtype, "kind", "") in "iu"


def _weak(owner: Any) -> Any:
    try:
        return weakref.ref(owner)
    except TypeError:
        return lambda: owner
