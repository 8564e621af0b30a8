"""Parquet: series, facts and findings of a run as three files, for any table engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..diagnoses import Diagnosis
from ..errors import UsageError
from ..places import PARTS
from ..store.browse import Browser

TEXTS = ("stage", "module", "tensor", "estimator", "file")
NUMBERS = ("epoch", "rank", "line")


def write(folder: Path, browser: Browser, diagnosis: Diagnosis) -> list[Path]:
    """series.parquet, facts.parquet and findings.parquet in a folder that is made. Raises UsageError."""
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError as error:
        raise UsageError("pyarrow is not installed: pip install 'sabueso[parquet]' brings it") from error
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{n}.parquet" for n in ("series", "facts", "findings")]
        _series(paths[0], browser, arrow, parquet)
        parquet.write_table(arrow.Table.from_pylist(_facts(browser), schema=_schema(arrow, FACT)), paths[1])
        parquet.write_table(arrow.Table.from_pylist(_findings(diagnosis), schema=_schema(arrow, FINDING)), paths[2])
    except OSError as error:
        raise UsageError(f"{folder} can't be written ({error.strerror or error}); write elsewhere with -o") from error
    return paths


FACT = {"order": "int64", "time": "float64", "process": "int64", "name": "string", "place": "string", "value": "string"}
FINDING = {"id": "string", "check": "string", "stage": "string", "severity": "string", "confidence": "float64", "culprit": "bool_", "says": "string",
           "remedy": "string", "place": "string", "evidence": "string", "explained_by": "string"}  # fmt: skip


def _schema(arrow: Any, kinds: dict[str, str]) -> Any:
    return arrow.schema([(name, getattr(arrow, kind)()) for name, kind in kinds.items()])


def _series(path: Path, browser: Browser, arrow: Any, parquet: Any) -> None:
    """A row group a series, so that no more than one is held."""
    kinds = {"name": "string", "process": "int64", **dict.fromkeys(TEXTS, "string"), **dict.fromkeys(NUMBERS, "int64"), "step": "int64", "value": "float64"}
    schema = _schema(arrow, kinds)
    with parquet.ParquetWriter(path, schema) as out:
        for s in browser.listing():
            steps, values = browser.points(s.number)
            same = {"name": s.name, "process": s.process, **{k: getattr(s.place, k) for k in (*TEXTS, *NUMBERS)}}
            columns = {k: arrow.array(np.full(len(steps), v) if v is not None else [None] * len(steps), schema.field(k).type) for k, v in same.items()}
            out.write_table(arrow.table(columns | {"step": arrow.array(steps), "value": arrow.array(values, from_pandas=False)}, schema=schema))


def _facts(browser: Browser) -> list[dict[str, Any]]:
    return [
        {
            "order": f.order,
            "time": f.time,
            "process": f.process,
            "name": f.name,
            "place": json.dumps(f.place.as_dict()),
            "value": json.dumps(f.value, default=str),
        }
        for f in browser.facts()
    ]


def _findings(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    culprits = {f.id for f in diagnosis.culprits}
    held = [f.as_dict() | {"culprit": f.id in culprits} for f in diagnosis.findings]
    return [{k: json.dumps(d[k], default=str) if k in ("place", "evidence") else d[k] for k in FINDING} for d in held]


assert set(TEXTS + NUMBERS) <= set(PARTS)
