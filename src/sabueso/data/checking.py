"""check_data: tables in, a diagnosis out. It makes the evidence and lets the checks of the catalogue judge it."""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import config
from ..adapters.sklearn.tells import patterns
from ..capture import breaks, twins
from ..catalogue import Check
from ..checks import catalogue
from ..contracts import Contract
from ..diagnoses import Diagnosis
from ..errors import UsageError
from ..events import Fact
from ..places import Place
from ..runs import Run
from ..wiring import conclude
from . import weighing
from .beside import apart, skipped
from .concept import changed
from .held import Held
from .holding import broken, contract_of
from .looks import is_key, seen
from .reading import Reader, Table
from .rows import groups, overlap, times
from .rows import twins as repeated

ROLES = ("train", "test", "reference", "current")
EARLIER = {"test": ("train",), "current": ("reference", "train")}
FULL = 200_000  # rows of a table whose labels are looked at row by row
Say = Callable[[str], None]


def check_data(train: Any = None, *, test: Any = None, reference: Any = None, current: Any = None, target: str | None = None, time: str | None = None,
               group: str | None = None, contract: Any = None, select: list[str] | None = None, ignore: list[str] | None = None,
               memory: str | None = None, say: Say | None = None) -> Diagnosis:  # fmt: skip
    """Check tables without a program: each by itself, the test rows against the training rows, the current ones against the reference.

    A table is a path (CSV, Parquet, JSON, Arrow; "file.db::TABLE" or "file.db::SELECT .." for SQLite), a frame of pandas, polars or Arrow, a
    dictionary of columns or an array. `target` names the label, `time` the column to tell the order by, `group` what must not be on both
    sides. Raises UsageError, one line that says what to do, for what is no table or has no such column.
    """
    given = {r: s for r, s in zip(ROLES, (train, test, reference, current)) if s is not None}
    if not given:
        raise UsageError("give a table: sabueso check --train train.parquet [--test test.parquet]")
    began, say = clock.monotonic(), say or (lambda text: None)
    settings = config.load()
    settings.narrow(select or [], ignore or [])
    chosen = settings.chosen(catalogue())
    rules = contract_of(contract) if contract is not None else None
    reader = Reader(list(given.values()), memory)
    say(f"reading {' and '.join(given)}")
    held = {role: Held.of(table, role) for role, table in reader.tables(given).items()}
    _columns_are_there(held, target, time, group)
    with np.errstate(all="ignore"):
        facts = _evidence(held, target, time, group, rules, say)
    tables = [{"role": r, "table": h.table.name, "rows": h.table.rows, "columns": len(h.table.names)} for r, h in held.items()]
    return _told(facts, chosen, settings, tables, clock.monotonic() - began)


def _evidence(held: dict[str, Held], target: str | None, time: str | None, group: str | None, rules: Contract | None, say: Say) -> list[Fact]:
    """Every pair of tables that belong together, then each table by itself."""
    facts = Facts()
    for mine, other, role in (("train", "test", "split"), ("reference", "current", "period"), ("train", "current", "period")):
        if mine in held and other in held and not (mine == "train" and other == "current" and "reference" in held):
            _both(facts, held[mine], held[other], role, target, time, group, say)
    for one in held.values():
        say(f"looking at {one.table.name}")
        one.count()
        _single(facts, one, target, time, next((held[r] for r in EARLIER.get(one.role, ()) if r in held), None), held.get("test"))
        if rules is not None:
            facts.add("broken_rules", one.table, broken(rules, one.table, one.profiles))
    return facts.made


class Facts:
    """What was found, in order."""

    def __init__(self) -> None:
        self.made: list[Fact] = []

    def add(self, name: str, table: Table, value: dict[str, Any]) -> None:
        """A fact at a table."""
        file = os.path.abspath(table.file) if table.file else None
        self.made.append(Fact(name, value, Place(file=file, stage="ingest"), len(self.made)))


def _told(facts: list[Fact], chosen: dict[str, Check], settings: config.Config, tables: list[dict[str, Any]], seconds: float) -> Diagnosis:
    stages = ["ingest", "preprocess"] + (["monitor"] if any(f.name == "tables_apart" for f in facts) else [])
    run = Run({"id": "data", "command": [], "cwd": os.getcwd(), "outcome": "succeeded", "exit_status": 0, "seconds": seconds, "stages": stages,
               "tables": tables, "every": True}, facts)  # fmt: skip
    made = conclude(run, chosen, settings, [])
    made.run["tables"] = tables
    return made


def _columns_are_there(held: dict[str, Held], target: str | None, time: str | None, group: str | None) -> None:
    for what, name in (("target", target), ("time", time), ("group", group)):
        if name is not None and not any(name in h.table.kinds for h in held.values()):
            first = next(iter(held.values())).table
            raise UsageError(f"--{what}: no column {name!r} in {first.name}; it has {', '.join(first.names[:12])}" + (", .." if len(first.names) > 12 else ""))


# ---- two tables


def _both(facts: Facts, a: Held, b: Held, role: str, target: str | None, time: str | None, group: str | None, say: Say) -> None:
    say(f"counting {a.table.name}")
    a.count(time=time, beside=b)
    say(f"counting {b.table.name}")
    b.count(like=a)
    skip = skipped(a, b, time, target) | ({group} if group else set())
    told = apart(a, b, role, target, skip)
    if target in a.sample and target in b.sample and a.table.kinds[target] == b.table.kinds[target]:
        usual = [c["name"] for c in told["columns"] if c["name"] != target]
        told["concept"] = changed(a.sample, b.sample, target, a.profiles, usual)
    facts.add("tables_apart", b.table, told)
    if role == "split":
        say("looking for shared rows")
        _rows(facts, a, b, target, time, group, skip)


def _rows(facts: Facts, a: Held, b: Held, target: str | None, time: str | None, group: str | None, skip: set[str]) -> None:
    found = [overlap(a.table, b.table, b.profiles, b.sample, target, skip - {time})]
    if found[0] is not None:
        twice, names = found[0].pop("positions"), found[0].pop("names")
        found[0]["weighed"] = _weighed(weighing.overlap, a, b, target, names, twice) if len(twice) >= 3 and target else None
    both = lambda name: name is not None and name in a.table.kinds and name in b.table.kinds  # noqa: E731
    found += [groups(a.table, b.table, group)] if both(group) else []
    found += [times(a.table, b.table, time)] if both(time) else []
    for value in found:
        if value is not None:
            more = {"reference": a.table.name, "current": b.table.name, "of": b.table.rows, "ref_rows": a.table.rows}
            facts.add("rows_shared", b.table, value | more | {"ref_file": os.path.abspath(a.table.file) if a.table.file else None})


# ---- one table


def _single(facts: Facts, one: Held, target: str | None, time: str | None, like: Held | None, test: Held | None) -> None:
    table = one.table
    told = seen(one, target, time, like)
    told["repeated"] = repeated(table, one.profiles, one.sample, target)
    if told["repeated"] and told["repeated"]["count"] >= 3 and target in table.kinds:
        told["repeated"]["weighed"] = _weighed(weighing.twins, one, target, list(weighing.named(table, target, set())))
    if target in table.kinds and one.profiles[target].missing:
        told["unlabelled"] = table.first(target, "missing")
    facts.add("table_seen", table, told)
    if target in table.kinds and one.role in ("train", "reference") and table.rows >= 40:
        _labelled(facts, one, target, test)


def _weighed(how: Callable[..., dict[str, Any] | None], *given: Any) -> dict[str, Any] | None:
    """What leaks is told with or without its weight."""
    try:
        return how(*given)
    except (ValueError, TypeError, np.linalg.LinAlgError):
        return None


def _labelled(facts: Facts, one: Held, target: str, test: Held | None) -> None:
    """Labels that equal rows contradict, inputs that give them away, stretches in which they stand beside other rows."""
    table = one.table
    features = [n for n in table.names if n != target and table.kinds[n] != "other" and not is_key(table.kinds[n], one.sample[n])]
    labels = one.sample[target]
    held = np.array([v is not None and v == v for v in labels.tolist()])
    if held.sum() < 40 or not features:
        return
    codes = np.unique(labels[held].astype(str) if labels.dtype.kind == "O" else labels[held], return_inverse=True)[1]
    classes = one.profiles[target].levels and len(one.profiles[target].levels) <= 30
    matrix = np.column_stack([_codes(one.sample[n][held]) for n in features])
    numeric = np.array([table.kinds[n] != "text" for n in features])
    y = codes.astype(float) if labels.dtype.kind == "O" or classes else labels[held].astype(float)
    with np.errstate(all="ignore"):
        for found in patterns(matrix, y, features, numeric, table.rows) if len(features) <= 200 else []:
            facts.add("tell", table, found | {"of": table.name, "weighed": _weighed(weighing.column, one, test, target, features, found["column"])})
    if classes and table.rows <= FULL:
        _conflicts(facts, one, features, target)
    numbers = {n: one.sample[n] for n in features if table.kinds[n] == "number"}
    if held.all() and labels.dtype.kind != "O" and table.rows >= 400:
        _broken(facts, one, numbers, target)


def _codes(values: np.ndarray) -> np.ndarray:
    """Texts as numbers: the order of their names."""
    if values.dtype.kind != "O":
        return values.astype(np.float64)
    return np.unique([str(v) for v in values.tolist()], return_inverse=True)[1].astype(np.float64)


def _conflicts(facts: Facts, one: Held, features: list[str], target: str) -> None:
    table = one.table
    columns = [table.column(n) for n in features]
    labels = table.column(target)
    codes = np.unique([str(v) for v in labels.tolist()], return_inverse=True)[1]
    found = twins.conflicts(columns, lambda rows: np.column_stack([np.nan_to_num(_codes(c[rows])) for c in columns]), codes)
    if found is not None:
        at = found.pop("positions")
        facts.add("label_twins", table, found | {"table": table.name, "labels": target, "row_numbers": at[:50].tolist()})


def _broken(facts: Facts, one: Held, numbers: dict[str, np.ndarray], target: str) -> None:
    """Faults along the rows of one table, each told only where mending it restores what tells the label."""
    usual = {n: v.astype(np.float64) for n, v in list(numbers.items())[: breaks.MOST_WIDTH] if len(np.unique(v[:500])) > 8 and np.isfinite(v).all()}
    levels = breaks.levels_of({n: v for n, v in one.sample.items() if n != target})
    y = one.sample[target].astype(np.float64)
    if not usual:
        return
    found = breaks.units(usual, levels, y)
    if found is None and len(y) == one.table.rows and len(np.unique(y)) > 20:
        found = breaks.rolled(usual, levels, y) or breaks.permuted(usual, levels, y)
    if found is None:
        return
    at = one.table.rows_of_sample()[found.pop("positions")]
    if "by" in found:
        found["group"] = str(one.sample[found["by"]][found.pop("position")])
    scale = one.table.rows / max(len(y), 1)
    found["count"] = int(round(found["count"] * scale))
    facts.add("broken_rows", one.table, found | {"labels": target, "of": one.table.rows, "table": one.table.name, "row_numbers": at[:50].tolist()})
