"""Joins within a query of DuckDB: both sides read once more, by a connection of our own, and taken apart as joins of pandas are.

DuckDB itself parses the query and makes the text for one side of it, so that keys are what the query makes them (trimmed, cast). Only what can be
read again without harm is: files of moderate size, tables of the person's database through a cursor of its own, and tables of the person's frames.
"""

from __future__ import annotations

import copy
import glob
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import joins, matching, summarise, tables
from .origin import names_in, user_frame
from .recorder import Recorder

MOST_QUERIES = 12
MOST_BYTES = 30_000_000  # of the files of a query
SECONDS = 1.0  # of all that is read
READERS = ("read_csv", "read_csv_auto", "read_json", "read_json_auto", "read_ndjson", "read_ndjson_auto", "read_parquet", "parquet_scan")
KEY = "__key_of_join_{}"
HOW = {"INNER": "inner", "LEFT": "left", "SEMI": "semi"}
Node = dict[str, Any]


class Queries:
    """One a recorder."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.own: Any = None
        self.spent, self.count = 0.0, 0
        self.registered: dict[str, Any] = {}  # what the person gave a name in the database, by a weak reference

    def look(self, connection: Any, query: str) -> None:
        """A query was run: which rows did its joins lose?"""
        text = selection(query)
        if text is None or self.count >= MOST_QUERIES or self.spent > SECONDS or not self.recorder.once("query", hash(query)):
            return
        if summarise.module("pandas") is None and summarise.module("polars") is None:
            return
        self.count += 1
        began = time.perf_counter()
        if self.own is None:
            self.own = sys.modules["duckdb"].connect(config={"threads": 1})
        try:
            whole = self.parsed(text)
            for select, named in selects(whole, []) if whole is not None else ():
                for join in joined(select["from_table"]):
                    self.join(connection, text, select, named, join)
        finally:
            self.spent += time.perf_counter() - began

    # ---- a join

    def join(self, connection: Any, text: str, select: Node, named: list[Node], join: Node) -> None:
        """Both sides of one join, taken apart."""
        how, pairs = HOW.get(join.get("join_type", "")), equalities(join, select)
        if how is None or not pairs or self.spent > SECONDS:
            return
        sides = [Side(self, connection, named, join[s]) for s in ("left", "right")]
        if not all(s.readable for s in sides):
            return
        for left_keys, right_keys in (tuple(zip(*pairs)), tuple(zip(*pairs))[::-1]):
            if all(own(k, s.aliases) for ks, s in ((left_keys, sides[0]), (right_keys, sides[1])) for k in ks):
                read = [s.read(list(k)) for s, k in zip(sides, (left_keys, right_keys))]
                if all(r is not None for r in read):
                    self.tell(how, [name(k, text) for k in left_keys], sides, read, select)
                    return

    def tell(self, how: str, names: list[str], sides: list[Side], read: list[Any], select: Node) -> None:
        """Rows of the left side without partner. Of keys that are text on one side and number on the other the database compares the numbers."""
        (left, a), (right, b) = read
        for i, (x, y) in enumerate(zip(a, b)):
            if (x.dtype.kind == "O") != (y.dtype.kind == "O"):
                a[i], b[i] = as_numbers(x), as_numbers(y)
        if any(x is None for x in (*a, *b)) or max(map(len, (a[0], b[0]))) > joins.MOST_ROWS:
            return
        for side, frame in zip(sides, (left, right)):
            side.register(frame)
        kept = sides[0].filtered(select.get("where_clause"))
        if kept is not None:
            left, a = kept[0], [as_numbers(x) if y.dtype.kind != "O" and x.dtype.kind == "O" else x for x, y in zip(kept[1], a)]
        rows = [tuple(r) for r in zip(*(x.tolist() for x in b))]
        times: dict[Any, int] = {}
        for r in rows:
            times[r] = times.get(r, 0) + 1
        met = [times.get(r, 0) for r in zip(*(x.tolist() for x in a))]
        count = sum(met) if how == "inner" else sum(min(m, 1) for m in met) if how == "semi" else sum(max(m, 1) for m in met)
        # repeats are left alone: a query may gather them again
        matching.look(self.recorder, left, None, SimpleNamespace(shape=(count,)), how, names, a, b)

    # ---- DuckDB

    def parsed(self, text: str) -> Node | None:
        """The syntax tree of one SELECT."""
        held = json.loads(self.own.execute("select json_serialize_sql(?)", [text]).fetchall()[0][0])
        return held["statements"][0]["node"] if not held.get("error") and len(held["statements"]) == 1 else None

    def text_of(self, node: Node) -> str:
        """And back."""
        whole = {"error": False, "statements": [{"node": node, "named_param_map": []}]}
        return self.own.execute("select json_deserialize_sql(?)", [json.dumps(whole)]).fetchall()[0][0]

    def held(self, table: str) -> Any:
        """A table that the person's frames hold under this name, or gave it in the database."""
        given = self.registered.get(table)
        if given is not None and given() is not None:
            return given()
        frame = user_frame()
        for _ in range(3):
            if frame is None:
                return None
            for space in (names_in(frame), frame.f_globals):
                if summarise.is_frame(space.get(table)):
                    return space[table]
            frame = user_frame(frame.f_back) if frame.f_back is not None else None
        return None


class Side:
    """One side of a join: what it is read from, and by which connection."""

    def __init__(self, queries: Queries, connection: Any, named: list[Node], ref: Node) -> None:
        self.queries, self.named, self.ref, self.connection = queries, named, ref, connection
        self.aliases, self.frames, self.keys = set(aliases(ref)), {}, []  # type: ignore[var-annotated]
        self.stored = False  # in the person's database
        known = {n["key"] for n in named}
        self.size = 0
        self.readable = all(self.is_readable(leaf, known) for part in (ref, [n["value"] for n in named]) for leaf in leaves(part))
        self.readable = self.readable and self.size <= MOST_BYTES and not (self.frames and self.stored)

    def is_readable(self, leaf: Node, known: set[str]) -> bool:
        """May this be read again?"""
        if leaf["type"] == "TABLE_FUNCTION":
            paths = list(texts(leaf["function"].get("arguments") or leaf["function"].get("children")))[:1]
            return leaf["function"]["function_name"] in READERS and bool(paths) and self.are_files(paths[0])
        table = leaf.get("table_name", "")
        if table in known:
            return True
        frame = self.queries.held(table)
        if frame is not None:
            self.frames[table] = frame
            return summarise.height(frame) <= joins.MOST_ROWS
        if os.path.splitext(table)[1]:
            return self.are_files(table)
        self.stored = True
        return True

    def are_files(self, path: str) -> bool:
        found = glob.glob(path) if "://" not in path else []
        self.size += sum(map(os.path.getsize, found))
        return bool(found)

    def read(self, keys: list[Node], where: Node | None = None) -> tuple[Any, list[np.ndarray]] | None:
        """(the table, its keys); None where these keys are none of its own."""
        select = copy.deepcopy(self.queries.parsed("select * from t"))
        if select is None:
            return None
        self.keys = keys
        select["select_list"] = [*({**k, "alias": KEY.format(i)} for i, k in enumerate(keys)), *select["select_list"]]
        select["from_table"], select["where_clause"], select["cte_map"] = self.ref, where, {"map": self.named}
        try:
            frame = self.run(f"select * from ({self.queries.text_of(select)}) limit {joins.MOST_ROWS + 1}")
        except Exception:  # not its columns, or rows that can't be read again
            return None
        given = [KEY.format(i) for i in range(len(keys))]
        found = [summarise.column(frame, k) for k in given]
        return (frame.drop(columns=given) if summarise.library(frame) == "pandas" else frame.drop(given)), found

    def run(self, text: str) -> Any:
        pandas = summarise.module("pandas") is not None
        if self.stored:
            cursor = self.connection.cursor()
            stored = dict(cursor.execute("select table_name, estimated_size from duckdb_tables()").fetchall())
            held = {name for name, rows in stored.items() if (rows or 0) <= joins.MOST_ROWS}  # a larger one takes longer than its limit says
            if not {leaf["table_name"] for leaf in leaves(self.ref) if leaf["type"] == "BASE_TABLE"} <= held | {n["key"] for n in self.named}:
                raise LookupError("a view may be anything, and a large table too much")
        else:
            cursor = self.queries.own
            for table, frame in self.frames.items():
                cursor.register(table, frame)
        try:
            found = cursor.execute(text)
            return found.df() if pandas else found.pl()
        finally:
            for table in self.frames if not self.stored else ():
                cursor.unregister(table)

    def filtered(self, where: Node | None) -> tuple[Any, list[np.ndarray]] | None:
        """The rows that the query asks for, where it does so by this side's columns alone."""
        return self.read(self.keys, where) if where is not None else None

    def register(self, frame: Any) -> None:
        """A file or stored table that was read: rows of what comes later are told by it."""
        if self.ref["type"] not in ("TABLE_FUNCTION", "BASE_TABLE") or self.frames or self.ref.get("table_name") in {n["key"] for n in self.named}:
            return
        paths = list(texts(self.ref.get("function", {}).get("arguments") or self.ref.get("function", {}).get("children") or []))
        title = os.path.basename(paths[0]) if paths else self.ref.get("table_name", "table")
        if self.queries.recorder.once("queried", title, summarise.height(frame)):
            tables.of(self.queries.recorder).read(frame, title, "duckdb")


# ---- syntax trees


def selection(query: Any) -> str | None:
    """The SELECT of a query that joins; None for any other."""
    if not isinstance(query, str) or not re.search(r"\bjoin\b|,", query, re.IGNORECASE) or len(query) > 20_000:
        return None
    text = query.strip().rstrip(";")
    made = re.match(
        r"(?:create|insert|copy)\b.*?(?:\bas\b|\binto\s+[\w.\"]+(?:\s*\([^)]*\))?)\s*\(?\s*(?=(?:select|with|from)\b)", text, re.IGNORECASE | re.DOTALL
    )
    text = text[made.end() :] if made else text
    return text if re.match(r"\(?\s*(select|with|from)\b", text, re.IGNORECASE) else None


def selects(node: Any, named: list[Node]) -> Iterator[tuple[Node, list[Node]]]:
    """(SELECT, the named queries that it may use) of a tree."""
    if isinstance(node, list):
        for part in node:
            yield from selects(part, named)
    elif isinstance(node, dict):
        named = [*named, *((node.get("cte_map") or {}).get("map") or [])]
        if node.get("type") == "SELECT_NODE" and isinstance(node.get("from_table"), dict):
            yield node, named
        for part in node.values():
            yield from selects(part, named)


def joined(ref: Node) -> Iterator[Node]:
    """The joins of a FROM, the innermost first."""
    if ref.get("type") == "JOIN":
        yield from joined(ref["left"])
        yield from joined(ref["right"])
        yield ref


def equalities(join: Node, select: Node) -> list[tuple[Node, Node]]:
    """The pairs of keys of a join on nothing but equal keys; of tables beside each other those of the WHERE."""
    if join.get("using_columns"):
        keys = [{"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": "", "query_location": 0, "column_names": [c]} for c in join["using_columns"]]
        return [(k, copy.deepcopy(k)) for k in keys]
    crossed = join.get("ref_type") == "CROSS" and select["from_table"] is join
    if not crossed and join.get("ref_type") != "REGULAR":
        return []
    condition = select.get("where_clause") if crossed else join.get("condition")
    parts = condition.get("children", []) if condition and condition.get("type") == "CONJUNCTION_AND" else [condition] if condition else []
    equal = [p for p in parts if p.get("type") == "COMPARE_EQUAL" and all(any(columns(p[s])) for s in ("left", "right"))]
    return [(p["left"], p["right"]) for p in equal] if crossed or len(equal) == len(parts) else []


def leaves(ref: Any) -> Iterator[Node]:
    """The tables that a part of a tree reads."""
    if isinstance(ref, list):
        for part in ref:
            yield from leaves(part)
    elif isinstance(ref, dict):
        if ref.get("type") in ("TABLE_FUNCTION", "BASE_TABLE"):
            yield ref
        for key, part in ref.items():
            if key != "function":
                yield from leaves(part)


def aliases(ref: Node) -> Iterator[str]:
    """The names by which a side's columns may be told."""
    if ref.get("type") == "JOIN":
        yield from (*aliases(ref["left"]), *aliases(ref["right"]))
    else:
        yield from (a for a in (ref.get("alias"), ref.get("table_name")) if a)


def columns(expression: Any) -> Iterator[list[str]]:
    """The columns that an expression names."""
    if isinstance(expression, list):
        for part in expression:
            yield from columns(part)
    elif isinstance(expression, dict):
        if expression.get("class") == "COLUMN_REF":
            yield expression["column_names"]
        for part in expression.values():
            yield from columns(part)


def own(key: Node, names: set[str]) -> bool:
    """May a key be of the side with these names?"""
    return all(len(c) == 1 or c[0] in names for c in columns(key))


def texts(node: Any) -> Iterator[str]:
    """The constants of text in a tree."""
    if isinstance(node, list):
        for part in node:
            yield from texts(part)
    elif isinstance(node, dict):
        literal = node.get("literal") or node.get("value")
        said = (literal.get("text") or literal.get("value")) if isinstance(literal, dict) else None
        if node.get("type") == "VALUE_CONSTANT" and isinstance(said, str):
            yield said
        else:
            for part in node.values():
                yield from texts(part)


def name(key: Node, text: str) -> str:
    """What a key is called: its column, or the expression as the query has it."""
    if key.get("class") == "COLUMN_REF":
        return key["column_names"][-1]
    found = [c[-1] for c in columns(key)]
    return found[0] if len(set(found)) == 1 else text[key["query_location"] :][: key.get("query_location_length", 40)]


def as_numbers(values: np.ndarray) -> np.ndarray | None:
    """Keys as numbers; None where one is none."""
    if values.dtype.kind in "iufb":
        return values.astype(np.float64)
    try:
        return np.array([np.nan if v is None else float(v) for v in values.tolist()])
    except ValueError:
        return None


def of(recorder: Recorder) -> Queries:
    """The recorder's, made at the first call."""
    return recorder.shared.setdefault("queries", Queries(recorder))
