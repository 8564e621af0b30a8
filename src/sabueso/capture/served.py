"""Served: the rows that requests were made into, beside the requests, and the line that makes them."""

from __future__ import annotations

import ast
import linecache
from typing import Any

import numpy as np

from .streams import Model, Stream

MOST_REQUESTS = 200
DISPLAYS = (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp, ast.Dict, ast.DictComp)


def told(stream: Stream, model: Model, columns: list[np.ndarray]) -> dict[str, Any]:
    """What the fact `inputs` says of requests; nothing where there were none."""
    if not stream.raw:
        return {}
    some = stream.raw[:MOST_REQUESTS]
    return {"requests": [r["raw"] for r, _ in some], "request_rows": [[_json(c[at]) if at < len(c) else None for c in columns] for _, at in some],
            "derived": [[d.told() for d in mine] for mine in model.derived], "row_line": row_line(stream.file, stream.line)}  # fmt: skip


def row_line(file: str | None, line: int | None) -> int | None:
    """Where the row is put together that the call in that line gives to a model: the first list that the names of the call were assigned."""
    try:
        tree = ast.parse("".join(linecache.getlines(file or "")))
    except (SyntaxError, ValueError):  # a cell with magics
        return line
    around = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and n.lineno <= (line or 0) <= (n.end_lineno or 0)]
    body = max(around, key=lambda n: n.lineno, default=None)
    made = [n for n in ast.walk(body) if isinstance(n, ast.Assign) and n.lineno <= (line or 0)] if body is not None else []
    wanted = {n.id for s in ast.walk(body) if isinstance(s, ast.stmt) and s.lineno == line for n in ast.walk(s) if isinstance(n, ast.Name)} if body else set()
    wanted_by = [s for s in sorted(made, key=lambda s: s.lineno) if s.lineno < (line or 0) and wanted & {t.id for t in s.targets if isinstance(t, ast.Name)}]
    listed = [s for s in wanted_by if any(isinstance(n, DISPLAYS) for n in ast.walk(s.value))]
    return next((s.lineno for s in [*listed, *wanted_by]), line)


def _json(v: Any) -> Any:
    return v.item() if isinstance(v, np.generic) else v
