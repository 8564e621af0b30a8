"""Features: what columns an estimator was fitted on against those that it was given when it raised."""

from __future__ import annotations

import ast
from typing import Any

from .operands import MOST_NAMES, at_instruction, holds_data, is_frame, operands
from .origin import is_users
from .provenance import Stops, made, named_in

MOST_TABLES = 200  # values looked through in search of a table like the one fitted on


def told(stops: Stops) -> dict[str, Any] | None:
    """Estimator, features expected and given, and the names that are missing or too many; None if no fitted estimator raised."""
    estimator, given = _fitted(stops)
    if estimator is None or given is None:
        return None
    held = vars(estimator)
    count = int(held["n_features_in_"])
    result: dict[str, Any] = {"estimator": type(estimator).__name__, "expected": count, "given": int(given.shape[1])}
    has = _columns(given) or _named(stops, given)
    wants = [str(c) for c in held.get("feature_names_in_", ())] or _alike(stops, count, has)
    if has and wants:
        result["extra"] = [c for c in has if c not in set(wants)][:MOST_NAMES]
        result["missing"] = [c for c in wants if c not in set(has)][:MOST_NAMES]
    return result


def _fitted(stops: Stops) -> tuple[Any, Any]:
    """The innermost estimator that knows its number of features, and the two-dimensional data beside it."""
    for frame in reversed(list(stops)):
        if is_users(frame.f_code.co_filename):
            continue
        for name in ("self", "estimator", "_estimator"):
            owner = frame.f_locals.get(name)
            if isinstance(getattr(owner, "__dict__", None), dict) and "n_features_in_" in vars(owner):
                data = frame.f_locals.get("X")
                return owner, data if holds_data(data) and len(data.shape) == 2 else None
    return None, None


def _columns(table: Any) -> list[str]:
    return [str(c) for c in table.columns] if is_frame(table) else []


def _named(stops: Stops, given: Any) -> list[str]:
    """The columns of the table that an array was made of: one of as many columns, read by a line that the array came through."""
    for frame in reversed(list(stops)):
        if not is_users(frame.f_code.co_filename):
            continue
        for node in _passed(frame, stops):
            for step in made(frame, node, stops):
                for _, value in named_in(step):
                    if is_frame(value) and value.shape[1] == given.shape[1]:
                        return _columns(value)
        for value in frame.f_locals.values():
            if is_frame(value) and tuple(value.shape) == tuple(given.shape):
                return _columns(value)
    return []


def _passed(frame: Any, stops: Stops) -> list[ast.AST]:
    node = at_instruction(frame, stops[frame][1])
    names = [n for n, v in operands(frame, node) if holds_data(v)] if node is not None else []
    return [ast.parse(n, mode="eval").body for n in names]


def _alike(stops: Stops, count: int, has: list[str]) -> list[str]:
    """The columns of a table in the person's frames that has the expected number of columns, nearly all of them the given ones."""
    looked = 0
    for frame in reversed(list(stops)):
        if not is_users(frame.f_code.co_filename):
            continue
        for scope in (frame.f_locals, frame.f_globals):
            for value in list(scope.values()):
                looked += 1
                if looked > MOST_TABLES:
                    return []
                if is_frame(value) and value.shape[1] == count and has:
                    columns = _columns(value)
                    if len(set(columns) & set(has)) >= min(len(has), count) - 1 > 0:
                        return columns
    return []
