"""Contracts and data: a contract inferred from a table, and a table held to one, with the rows that break it."""

from __future__ import annotations

import os
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np

from ..contracts import Contract, ContractError, Rule
from ..errors import UsageError
from ..profiles import Profile
from .plans import plan_of, whole_of
from .reading import Reader, Table

MOST_VALUES = 50  # levels that a rule lists
FIRST = 50


def contract_of(given: Any) -> Contract:
    """A contract by path, as text, or as it is. Raises UsageError."""
    if isinstance(given, Contract):
        return given
    text = os.fspath(given)
    if "\n" in text:
        return Contract.of(text)
    try:
        return Contract.of(Path(text).read_text(encoding="utf-8"), text)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{text} can't be read: {getattr(error, 'strerror', None) or 'it is no text'}") from error


def infer(source: Any, name: str = "table") -> Contract:
    """What a table is, as a contract: types, ranges a tenth wider than seen, values where there are few, the share that may be missing."""
    table = Reader([source]).open(source, name)
    profiles = profiles_of(table)
    return Contract({n: _rule(table, n, p) for n, p in profiles.items()}, table.name)


def profiles_of(table: Table) -> dict[str, Profile]:
    """The table's own profiles."""
    sample = table.sample()
    parts = table.profiles({n: plan_of(table.kinds[n], sample[n]) for n in table.names})
    return {n: whole_of(p) for n, p in parts.items()}


def _rule(table: Table, name: str, p: Profile) -> Rule:
    rule = Rule(type_of(p), missing=_share(p))
    if rule.type in ("integer", "number") and p.min is not None and p.max is not None:
        rule.least, rule.most = _wider(p)
    elif rule.type == "time" and p.min is not None:
        rule.least = float(np.floor(p.min))
    elif rule.type == "text" and 0 < len(p.levels) <= MOST_VALUES and p.valid >= 5 * len(p.levels):
        rule.values = sorted(str(v) for v, _ in p.levels)
    varied = not p.levels or len(p.levels) == p.count
    if p.missing == 0 and p.count >= 20 and rule.type in ("integer", "text") and varied and len(np.unique(table.hashes([name]))) == p.count:
        rule.unique, rule.least, rule.most = True, None, None
    return rule


def type_of(p: Profile) -> str:
    """The type of a contract that a profile's column has."""
    if p.kind == "number":
        return "integer" if p.whole and p.nonfinite == 0 and p.valid else "number"
    return {"bool": "boolean", "text": "text", "time": "time"}.get(p.kind, "other")


def _share(p: Profile) -> float:
    """Half as much again as was seen, and what chance adds in a table of this size."""
    w = p.missing_share
    return 0.0 if not p.missing else 1.0 if p.missing == p.count else min(1.0, round(1.5 * w + 3 * (w * (1 - w) / p.count) ** 0.5, 4))


def _wider(p: Profile) -> tuple[float, float]:
    low, high = float(p.min or 0.0), float(p.max or 0.0)
    room = 0.1 * (high - low)
    least, most = (0.0 if low >= 0 > low - room else low - room), (0.0 if high <= 0 < high + room else high + room)
    if p.whole:
        return int(np.floor(least)), int(np.ceil(most))
    digits = max(0, 3 - int(np.floor(np.log10(max(high - low, 1e-12)))))
    return float(np.floor(least * 10**digits) / 10**digits), float(np.ceil(most * 10**digits) / 10**digits)


# ---- data held to a contract


def broken(contract: Contract, table: Table, profiles: dict[str, Profile] | None = None) -> dict[str, Any]:
    """The rules that a table breaks: column, rule, what was seen, how many rows, the first of them."""
    profiles = profiles or profiles_of(table)
    found: list[dict[str, Any]] = []
    if table.rows < contract.rows:
        found.append(_breach("", "rows", contract.rows, table.rows, 0, []))
    for name, rule in contract.columns.items():
        if name not in profiles:
            found += [] if rule.optional else [_breach(name, "there", True, False, table.rows, [])]
            continue
        found += _column(table, name, rule, profiles[name])
    added = [n for n in table.names if n not in contract.columns] if not contract.extra else []
    found += [_breach(n, "extra", False, True, 0, []) for n in added]
    return {"table": table.name, "rows": table.rows, "rules": sum(1 for _ in contract.columns), "broken": found}


def _breach(column: str, rule: str, expected: Any, seen: Any, count: int, rows: list[int], example: Any = None) -> dict[str, Any]:
    return {"column": column, "rule": rule, "expected": expected, "seen": seen, "count": count, "rows": rows, "example": example}


def _column(table: Table, name: str, rule: Rule, p: Profile) -> list[dict[str, Any]]:
    found = []
    kind = type_of(p)
    if p.missing_share > rule.missing + 1e-12:
        found.append(_breach(name, "missing", rule.missing, round(p.missing_share, 4), p.missing, table.first(name, "missing")))
    fits = kind == rule.type or rule.type == "other" or (rule.type == "number" and kind == "integer") or not p.valid
    if not fits and not (rule.type == "boolean" and kind == "integer" and p.min in (0, 1) and p.max in (0, 1)):
        return [*found, _breach(name, "type", rule.type, kind, p.valid, list(range(min(FIRST, table.rows))), _example(table, name))]
    if kind in ("integer", "number", "time") and p.min is not None and p.max is not None:
        low, high = -np.inf if rule.least is None else rule.least, np.inf if rule.most is None else rule.most
        if p.min < low or p.max > high:
            values = table.column(name)
            out = np.flatnonzero((values < low) | (values > high))
            found.append(_breach(name, "range", [rule.least, rule.most], [p.min, p.max], len(out), out[:FIRST].tolist(), float(values[out[0]])))
    if rule.values is not None:
        found += _values(table, name, rule, p)
    if rule.unique:
        found += _unique(table, name)
    return found


def _example(table: Table, name: str) -> Any:
    return next((str(v)[:40] for v in table.column(name)[:1000].tolist() if v is not None and v == v), None)


def _values(table: Table, name: str, rule: Rule, p: Profile) -> list[dict[str, Any]]:
    known = set(rule.values or ())
    levels = p.levels if p.levels or not p.valid else list(zip(*np.unique([str(v) for v in table.column(name).tolist() if v is not None], return_counts=True)))
    new = {v: n for v, n in levels if v not in known and str(v) not in known}
    if not new:
        return []
    rows = table.first(name, "equal", list(new)[:1000])
    return [_breach(name, "values", rule.values, sorted(map(str, new))[:10], int(sum(new.values())), rows, str(next(iter(new)))[:40])]


def _unique(table: Table, name: str) -> list[dict[str, Any]]:
    held = table.hashes([name])
    order = np.argsort(held, kind="stable")
    again = np.sort(order[1:][held[order][1:] == held[order][:-1]])
    return [_breach(name, "unique", True, False, len(again), again[:FIRST].tolist())] if len(again) else []


# ---- in a pipeline


class Enforced:
    """Holds frames to a contract: called with a frame it returns the frame or raises ContractError; as a decorator it holds what a function returns."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract

    def __call__(self, x: Any) -> Any:
        """Check a frame, or wrap a function."""
        if callable(x) and not hasattr(x, "shape"):
            return self._around(x)
        self.hold(x)
        return x

    def _around(self, function: Any) -> Any:
        @wraps(function)
        def held(*args: Any, **kwargs: Any) -> Any:
            return self(function(*args, **kwargs))

        return held

    def hold(self, x: Any, name: str = "the table") -> None:
        """Raise ContractError where the frame breaks a rule."""
        table = Reader([x]).open(x, name)
        found = broken(self.contract, table)["broken"]
        if found:
            raise ContractError("\n".join([f"{name} breaks {len(found)} rule{'s' * (len(found) > 1)} of its contract:", *map(said, found[:20])]), found)


def enforce(contract: Any) -> Enforced:
    """Hold data to a contract (a path, its text, or a Contract) in a pipeline.

    held = sabueso.enforce("contract.yaml"); table = held(pandas.read_parquet("new.parquet")), or `@sabueso.enforce("contract.yaml")` above a
    function that returns a frame. Raises ContractError with the offending rows.
    """
    return Enforced(contract_of(contract))


def said(b: dict[str, Any]) -> str:
    """One breach in a line."""
    rows = f"; rows {', '.join(map(str, b['rows'][:6]))}{' ..' if b['count'] > 6 else ''}" if b["rows"] and b["rule"] != "type" else ""
    what = {
        "rows": f"{b['seen']} rows, at least {b['expected']} promised", "there": "the column is not there", "extra": "the column is not in the contract",
        "type": f"{b['seen']} instead of {b['expected']}, such as {b['example']!r}", "missing": f"{b['seen']:.2%} missing" if b["rule"] == "missing" else "",
        "range": f"{b['count']} values outside {b['expected']}, such as {b['example']}", "values": f"{b['count']} values not listed, such as {b['example']!r}",
        "unique": f"{b['count']} values repeat an earlier one",
    }[b["rule"]]  # fmt: skip
    return f"  {b['column'] or 'table'}: {what}{', ' + format(b['expected'], '.2%') + ' may be' if b['rule'] == 'missing' else ''}{rows}"
