"""Joins within a query that pandas hands to SQLite: both tables read once more, from the file by a connection of our own that may only read.

Plain joins alone, of tables by one equal key each, are told from the text of the query; any other is left alone.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from . import joins, matching, summarise, tables
from .queries import as_numbers
from .recorder import Recorder

MOST_BYTES = 60_000_000  # of the database's file
NAME = r'(?:"[^"]+"|\[[^\]]+\]|`[^`]+`|\w+)'
TABLE = rf"({NAME})(?:\s+(?:as\s+)?(?!on\b|using\b|join\b|left\b|inner\b|where\b|group\b|order\b|cross\b|natural\b|limit\b)({NAME}))?"
FROM = re.compile(rf"\bfrom\s+{TABLE}", re.IGNORECASE)
JOIN = re.compile(
    rf"\b(left\s+(?:outer\s+)?|inner\s+)?join\s+{TABLE}\s+(?:on\s+\(?\s*({NAME})\.({NAME})\s*=\s*({NAME})\.({NAME})\s*\)?|using\s*\(\s*({NAME})\s*\))"
    r"(?=\s*(?:$|;|\b(?:left|inner|join|where|group|order|limit)\b))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Join:
    """A plain join: how, and table and key of either side."""

    how: str
    left: tuple[str, str]
    right: tuple[str, str]


def look(recorder: Recorder, query: Any, connection: Any) -> None:
    """A query was read: which rows did its joins lose?"""
    found = plain_joins(query) if isinstance(query, str) and recorder.wants("table_join") else []
    path = path_of(connection) if found else None
    if getattr(connection, "in_transaction", False):  # rows not yet committed are seen by nobody else
        return
    if path is None or not recorder.once("sqlite", path, hash(query)) or os.path.getsize(path) > MOST_BYTES:
        return
    pandas = summarise.module("pandas")
    own = sys.modules["sqlite3"].connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
    try:
        for join in found:
            sides = [pandas.read_sql_query(f'select * from "{table}" limit {joins.MOST_ROWS // 2}', own) for table, _ in (join.left, join.right)]
            tell(recorder, join, *sides)
    finally:
        own.close()


def tell(recorder: Recorder, join: Join, left: Any, right: Any) -> None:
    """Take one join apart; keys that are text on one side and number on the other are compared as numbers."""
    if not all(key in summarise.columns_of(f) for f, (_, key) in ((left, join.left), (right, join.right))):
        return
    a, b = summarise.column(left, join.left[1]), summarise.column(right, join.right[1])
    if (a.dtype.kind == "O") != (b.dtype.kind == "O"):
        a, b = as_numbers(a), as_numbers(b)  # type: ignore[assignment]
    if a is None or b is None or max(len(a), len(b)) >= joins.MOST_ROWS // 2:
        return
    for frame, (table, _) in ((left, join.left), (right, join.right)):
        if recorder.once("queried", table, len(frame)):
            tables.of(recorder).read(frame, table, "sqlite")
    times = Counter(b.tolist())
    count = sum(times[k] or (join.how == "left") for k in a.tolist())
    matching.look(recorder, left, None, SimpleNamespace(shape=(int(count),)), join.how, [join.left[1]], [a], [b])


def plain_joins(query: str) -> list[Join]:
    """The joins of a query without inner queries; none where one of them is not plain."""
    text = " ".join(re.sub(r"--[^\n]*", " ", query).split())
    if len(text) > 5000 or len(FROM.findall(text)) != 1 or len(re.findall(r"\bjoin\b", text, re.IGNORECASE)) != len(JOIN.findall(text)):
        return []
    first = FROM.search(text)
    named = {bare(first[2] or first[1]).lower(): bare(first[1])}  # type: ignore[index]
    before, found = bare(first[1]), []  # type: ignore[index]
    for m in JOIN.finditer(text):
        table = bare(m[2])
        named[bare(m[3] or m[2]).lower()] = table
        how = "left" if (m[1] or "").lower().startswith("left") else "inner"
        if m[8]:
            found.append(Join(how, (before, bare(m[8])), (table, bare(m[8]))))
            continue
        one, other = ((named.get(bare(m[i]).lower()), bare(m[i + 1])) for i in (4, 6))
        if one[0] is None or other[0] is None or table not in (one[0], other[0]):
            return []
        one, other = (other, one) if one[0] == table else (one, other)
        found.append(Join(how, one, other))  # type: ignore[arg-type]
    return found


def bare(name: str) -> str:
    """A name without its quotes."""
    return name.strip('"`[]')


def path_of(connection: Any) -> str | None:
    """The file of a SQLite connection, of SQLAlchemy's too."""
    sqlite = sys.modules.get("sqlite3")
    if sqlite is not None and type(connection) is sqlite.Connection:
        cursor = connection.cursor()
        cursor.row_factory = None
        found = next((row[2] for row in cursor.execute("pragma database_list").fetchall() if row[1] == "main"), "")
    else:
        url = getattr(getattr(connection, "engine", connection), "url", None)
        found = getattr(url, "database", None) if str(url).startswith("sqlite:") and sqlite is not None else connection if isinstance(connection, str) else None
        found = found.partition("sqlite:///")[2] if isinstance(found, str) and found.startswith("sqlite:") else found
    return found if isinstance(found, str) and os.path.isfile(found) else None
