"""Assertions for the parts of a pipeline, for pytest and unittest; each fails with what was found and where.

`assert_learns_one_batch`, `assert_no_leakage`, `assert_schema`, `assert_same_output`; `run` watches a script; `Mixin` has the same for
`unittest.TestCase`.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import wiring
from .diagnoses import Diagnosis
from .findings import Finding
from .noise import first_difference, plain
from .runs import Run
from .show import text
from .store.reader import open_run

MOST_SHOWN = 10
ALIASES = {"auc": "roc_auc_score", "r2": "r2_score", "mse": "mean_squared_error", "mae": "mean_absolute_error", "rmse": "root_mean_squared_error"}

# ---- models


def assert_learns_one_batch(model: Any, loss: Any, batch: Any, *, optimizer: Any = None, seconds: float = 2.0) -> None:
    """The model learns one batch and no question of the battery names a fault; nothing that was given is changed."""
    found = wiring.examine(model, loss, batch, optimizer=optimizer, seconds=seconds)
    found.raise_for_culprit()
    answer = next((a for a in found.answers if a.question == "one batch is learnt"), None)
    if answer is not None and answer.passed is None and answer.evidence:
        raise AssertionError(f"one batch is hardly learnt: {answer.says}\n{found}")


# ---- tables


def assert_no_leakage(train: Any, test: Any, *, target: str | None = None, group: str | None = None, time: str | None = None) -> None:
    """No row stands on both sides; with `group` no group does, with `time` no training row is later than the first test row.

    Tables with named columns, arrays, or (X, y) pairs; `target` names the column that holds the answer: one that copies it is leakage too.
    """
    a, b = columns_of(train), columns_of(test)
    inputs = [n for n in a if n != target]
    rows, others = row_keys({n: a[n] for n in inputs}), row_keys({n: b[n] for n in inputs if n in b})
    known = set(rows)
    both = [i for i, key in enumerate(others) if key in known]
    if both and len(set(others)) > 0.1 * len(others):  # a table of few distinct rows repeats them by nature
        where = {key: i for i, key in reversed(list(enumerate(rows)))}
        pairs = ", ".join(f"{i} (training row {where[others[i]]})" for i in both[:MOST_SHOWN])
        raise AssertionError(f"split-overlap: {len(both)} of {len(others)} test rows stand in the training table too: test rows {pairs}{more(both)}")
    if group is not None:
        shared = sorted(set(a[group].tolist()) & set(b[group].tolist()), key=str)
        if shared:
            raise AssertionError(f"group-leakage: {len(shared)} values of {group!r} are on both sides: {shared[:MOST_SHOWN]}{more(shared)}")
    if time is not None and len(a[time]) and len(b[time]) and a[time].max() > b[time].min():
        late = np.flatnonzero(a[time] > b[time].min())
        raise AssertionError(
            f"time-leakage: {len(late)} training rows are later than the first test row ({b[time].min()}): rows {late[:MOST_SHOWN].tolist()}{more(late)}"
        )
    if target is not None:
        assert_no_copy(a, target)


def assert_no_copy(table: Mapping[str, np.ndarray], target: str) -> None:
    """No input is the answer in other words: one value of it for each answer, and the other way round."""
    answer = codes(table[target])
    kinds = len(set(answer.tolist()))
    for name, column in table.items():
        if name == target or kinds < 2:
            continue
        given = codes(column)
        if len(set(given.tolist())) == kinds and len(set(zip(given.tolist(), answer.tolist()))) == kinds:
            raise AssertionError(f"target-leakage: column {name!r} is {target!r} in other words ({kinds} values, one for each answer)")


def assert_schema(table: Any, schema: Any) -> None:
    """Columns, their order, dtypes and values are as `schema` says.

    `schema` is a table to be like (then also: no missing values where it has none, no new levels in text), or a dictionary of column names to a dtype
    name ("float64", "number", "text"), a (low, high) pair, or a set of allowed values.
    """
    held = columns_of(table)
    wanted = dict(schema) if isinstance(schema, Mapping) else columns_of(schema)
    lacking, extra = [n for n in wanted if n not in held], [n for n in held if n not in wanted]
    if lacking or extra:
        raise AssertionError(f"shape-mismatch: columns differ: lacking {lacking or 'none'}, not expected {extra or 'none'}")
    if list(held) != list(wanted):
        at = next(i for i, (x, y) in enumerate(zip(held, wanted)) if x != y)
        raise AssertionError(f"feature-order: column {at} is {list(held)[at]!r}, expected {list(wanted)[at]!r}")
    for name, rule in wanted.items():
        why = breaks(held[name], rule)
        if why:
            raise AssertionError(f"column {name!r}: {why}")


def breaks(column: np.ndarray, rule: Any) -> str | None:
    """What of a column breaks its rule; None where nothing does."""
    if isinstance(rule, str):
        kinds = {"number": "fiu", "text": "OUST", "whole": "iu", "bool": "b", "time": "M"}
        good = column.dtype.kind in kinds[rule] if rule in kinds else str(column.dtype) == rule
        return None if good else f"dtype-changed: it is {column.dtype}, expected {rule}"
    if isinstance(rule, (set, frozenset)):
        return foreign(column, rule)
    if isinstance(rule, tuple) and len(rule) == 2:
        wrong = np.flatnonzero(~((column >= rule[0]) & (column <= rule[1])))
        return f"{len(wrong)} values outside of {rule[0]} to {rule[1]}: rows {wrong[:MOST_SHOWN].tolist()}, such as {column[wrong[0]]}" if len(wrong) else None
    if column.dtype.kind != rule.dtype.kind:
        return f"dtype-changed: it is {column.dtype}, expected {rule.dtype}"
    gaps = np.flatnonzero(missing(column))
    if len(gaps) and not missing(rule).any():
        return f"missing-values: {len(gaps)} values are missing, expected none: rows {gaps[:MOST_SHOWN].tolist()}{more(gaps)}"
    return foreign(column, set(rule.tolist())) if column.dtype.kind in "OUS" and len(set(rule.tolist())) <= max(20, len(rule) // 10) else None


def foreign(column: np.ndarray, allowed: Any) -> str | None:
    wrong = [i for i, v in enumerate(column.tolist()) if v not in allowed and v == v and v is not None]
    return f"unseen-category: {len(wrong)} values are not among those allowed: rows {wrong[:MOST_SHOWN]}, such as {column[wrong[0]]!r}" if wrong else None


def assert_same_output(before: Any, after: Any, *, relative: float | None = None, path: str = "output") -> None:
    """Two results are the same but for rounding by their dtype: numbers, arrays, tensors, tables, and lists and dictionaries of them."""
    if isinstance(before, Mapping) or hasattr(before, "columns"):
        a, b = (dict(v) if isinstance(v, Mapping) else columns_of(v) for v in (before, after))
        if list(a) != list(b):
            raise AssertionError(f"{path}: the names differ: {list(a)[:MOST_SHOWN]} before, {list(b)[:MOST_SHOWN]} after")
        for name in a:
            assert_same_output(a[name], b[name], relative=relative, path=f"{path}[{name!r}]")
        return
    if isinstance(before, (list, tuple)) and not all(isinstance(v, (int, float, str, bool)) for v in before):
        if len(before) != len(after):
            raise AssertionError(f"{path}: {len(before)} parts before, {len(after)} after")
        for number, (a, b) in enumerate(zip(before, after)):
            assert_same_output(a, b, relative=relative, path=f"{path}[{number}]")
        return
    shapes = plain(before).shape, plain(after).shape
    if shapes[0] != shapes[1]:
        raise AssertionError(f"{path}: shape {shapes[0]} before, {shapes[1]} after")
    found = first_difference(before, after, relative)
    if found is not None:
        raise AssertionError(f"{path}: {found}")


def columns_of(table: Any) -> dict[str, np.ndarray]:
    """A table's columns by name; of an array by number, of an (X, y) pair those of X."""
    if isinstance(table, (tuple, list)) and len(table) == 2 and hasattr(table[0], "shape"):
        return columns_of(table[0])
    if isinstance(table, Mapping):
        return {str(n): plain(v) for n, v in table.items()}
    if hasattr(table, "columns"):
        return {str(n): as_array(table[n]) for n in table.columns}
    held = plain(table)
    flat = held.reshape(len(held), -1)
    return {str(i): flat[:, i] for i in range(flat.shape[1])}


def as_array(column: Any) -> np.ndarray:
    """A column as an array, text as objects."""
    held = np.asarray(column.to_numpy())
    return held.astype(object) if held.dtype.kind in "TU" else held


def row_keys(table: Mapping[str, np.ndarray]) -> list[bytes]:
    """One key a row, by content."""
    parts = [np.asarray(c, dtype=np.float64).tolist() if c.dtype.kind in "fiub" else [str(v) for v in c.tolist()] for c in table.values()]
    return [hashlib.blake2b(repr(row).encode(), digest_size=12).digest() for row in zip(*parts)]


def codes(column: np.ndarray) -> np.ndarray:
    return np.unique(column.astype(str), return_inverse=True)[1].reshape(-1)


def missing(column: np.ndarray) -> np.ndarray:
    return np.array([v is None or v != v for v in column.tolist()], dtype=bool)


def more(found: Any) -> str:
    return f" and {len(found) - MOST_SHOWN} more" if len(found) > MOST_SHOWN else ""


# ---- whole programs


@dataclass(frozen=True)
class Number:
    """A number that a run told, with what it is."""

    name: str
    value: float

    def within(self, low: float, high: float) -> float:
        """The value, if it lies between both; AssertionError else."""
        assert low <= self.value <= high, f"{self.name} is {self.value:.6g}, expected {low:g} to {high:g}"
        return self.value


@dataclass
class Watched:
    """A script that was run watched: `diagnosis`, `evidence`, `output` and `exit_status`."""

    diagnosis: Diagnosis
    evidence: Run
    output: str
    exit_status: int

    def no_culprit(self, *ignore: str) -> Watched:
        """AssertionError with the report unless no culprit stands (but for those ignored)."""
        left = [c for c in self.diagnosis.culprits if c.check not in ignore]
        assert not left, report(self.diagnosis)
        return self

    def culprit(self, name: str) -> Finding:
        """The culprit of that name; AssertionError where there is none."""
        found = next((c for c in self.diagnosis.culprits if c.check == name), None)
        assert found is not None, f"no culprit {name}:\n{report(self.diagnosis)}"
        return found

    def metric(self, name: str) -> Number:
        """The last value of a metric of scikit-learn (`auc`, `accuracy`, `f1_score`), of the training's `loss`, or that the program printed by that name."""
        wanted = {name, ALIASES.get(name, name), f"{name}_score"}
        for fact in reversed(self.evidence.facts("metric")):
            if fact["metric"] in wanted and fact.get("values"):
                value = fact["values"][-1]
                return Number(name, float(value[-1] if isinstance(value, list) else value))
        losses = self.evidence.series("train_loss")
        if name in ("loss", "train_loss") and losses:
            return Number(name, float(losses[-1].values[-1]))
        printed = re.findall(rf"(?i)\b{re.escape(name)}\b\W{{1,4}}([-+]?\d*\.?\d+(?:e[-+]?\d+)?)", self.output)
        assert printed, f"the run told no {name}; its output ends:\n{self.output[-500:]}"
        return Number(name, float(printed[-1]))


def run(script: str, *arguments: str, cwd: str | Path | None = None, seconds: float = 600.0) -> Watched:
    """Run a script (or `-m`, module) under `sabueso run` and give back what was seen. Raises AssertionError where nothing was."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "diagnosis.json"
        command = [sys.executable, "-m", "sabueso", "run", "--dir", folder, "--json", str(out), script, *arguments]
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
        assert out.exists(), f"{script} was not watched: {done.stderr[-2000:]}"
        data = json.loads(out.read_text())
        return Watched(Diagnosis.of(data), open_run(Path(folder) / data["run"]["id"]), done.stdout, done.returncode)


def report(diagnosis: Diagnosis) -> str:
    """The report as text, for a failing test."""
    paper = io.StringIO()
    text.tell(diagnosis, paper)
    return paper.getvalue()


class Mixin:
    """For `unittest.TestCase`: `class Tests(sabueso.testing.Mixin, unittest.TestCase)`. With `sabueso_watch = True` each test is watched."""

    sabueso_watch = False
    sabueso_ignore: tuple[str, ...] = ()

    assertLearnsOneBatch = staticmethod(assert_learns_one_batch)
    assertNoLeakage = staticmethod(assert_no_leakage)
    assertSchema = staticmethod(assert_schema)
    assertSameOutput = staticmethod(assert_same_output)
    sabuesoRun = staticmethod(run)

    def _callTestMethod(self, method: Any) -> None:
        """The one place of TestCase between setUp and tearDown."""
        call = super()._callTestMethod  # type: ignore[misc]
        if not self.sabueso_watch:
            call(method)
            return
        with tempfile.TemporaryDirectory() as folder, wiring.watch(quiet=True, dir=folder) as seen:
            call(method)
        if seen.diagnosis is not None and any(c.check not in self.sabueso_ignore for c in seen.diagnosis.culprits):
            raise AssertionError(report(seen.diagnosis))
