"""MLflow: runs read straight from its database, its folders of files or its server; written through its own client.

MLflow stores an infinity as the largest double and a NaN as a flag; both come back as what they were.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlparse

from ..errors import UsageError
from . import mlflow_server

LARGEST = 1.7976931348623157e308
BATCH = 1000  # metrics that one call may hold


@dataclass
class Theirs:
    """One run of theirs."""

    id: str
    name: str
    started: float | None = None
    curves: dict[str, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))
    settings: dict[str, str] = field(default_factory=dict)


def read(uri: str, most: int = 20, only: str | None = None) -> list[Theirs]:
    """The newest runs of a tracking URI or path, or the one of that id. Raises UsageError."""
    if urlparse(uri).scheme in ("http", "https"):
        found = [r for r in (_served(uri, told) for told in mlflow_server.runs(uri, most, only)) if r.curves]
    else:
        found = _stored(uri, most, only)
    if not found:
        raise UsageError(f"{uri}: no run with a metric" + (f" of id {only}" if only else ""))
    return sorted(found, key=lambda r: -(r.started or 0))[:most]


def _stored(uri: str, most: int, only: str | None) -> list[Theirs]:
    """Runs of a database or folder."""
    path = _path(uri)
    if path.is_dir() and not (path / "mlflow.db").exists():
        return list(_files(path, only))
    if path.is_dir() or path.is_file():
        return _database(path / "mlflow.db" if path.is_dir() else path, most, only)
    raise UsageError(f"{uri}: there is no such database or folder; give sqlite:///mlflow.db, its path, a folder of runs, or the address of a server")


def _served(uri: str, told: dict[str, Any]) -> Theirs:
    """A run as a server tells it, with the whole history of its metrics."""
    info, data = told.get("info") or {}, told.get("data") or {}
    id_, started = str(info.get("run_id") or info.get("run_uuid")), info.get("start_time")
    made = Theirs(id_, info.get("run_name") or id_[:8], int(started) / 1000 if started else None)
    made.settings = {str(p.get("key")): str(p.get("value")) for p in data.get("params") or []}
    for key in (m["key"] for m in data.get("metrics") or []):
        made.curves[key] = sorted((step, infinite(value)) for step, value in mlflow_server.history(uri, id_, key))
    return made


def _path(uri: str) -> Path:
    parts = urlparse(uri)
    if parts.scheme in ("databricks", "postgresql", "mysql", "mssql"):
        raise UsageError(f"{uri}: only files of this machine and servers (http) are read; fetch it as mlflow.db or a folder of runs first")
    return Path(unquote(parts.path[1:] if parts.scheme == "sqlite" else parts.path if parts.scheme == "file" else uri))


def _database(path: Path, most: int, only: str | None) -> list[Theirs]:
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as db:
            asked = "where run_uuid = ?" if only else "where lifecycle_stage = 'active' or lifecycle_stage is null"
            rows = db.execute(f"select run_uuid, name, start_time from runs {asked} order by start_time desc limit {int(most)}", [only] if only else [])
            return [r for r in (_of_database(db, *row) for row in rows.fetchall()) if r.curves]
    except sqlite3.Error as error:
        raise UsageError(f"{path} is no database of MLflow that can be read ({error})") from error


def _of_database(db: sqlite3.Connection, id_: str, name: str | None, started: int | None) -> Theirs:
    made = Theirs(id_, name or id_[:8], started / 1000 if started else None)
    for key, value, step, nan in db.execute("select key, value, step, is_nan from metrics where run_uuid = ? order by key, step, timestamp", (id_,)):
        made.curves[key].append((int(step), float("nan") if nan else infinite(value)))
    made.settings = dict(db.execute("select key, value from params where run_uuid = ?", (id_,)).fetchall())
    return made


def infinite(value: float) -> float:
    """The infinity that the largest double stands for."""
    return float("inf") if value >= LARGEST else float("-inf") if value <= -LARGEST else float(value)


def _files(root: Path, only: str | None) -> Iterator[Theirs]:
    """The old store: experiment/run/metrics/NAME with lines `time value step`."""
    for meta in sorted(root.glob("**/meta.yaml")):
        run = meta.parent
        if not (run / "metrics").is_dir() or (only and run.name != only):
            continue
        head = dict(line.partition(": ")[::2] for line in meta.read_text(encoding="utf-8", errors="replace").splitlines())
        started = head.get("start_time", "")
        made = Theirs(run.name, head.get("run_name", "").strip("'\"") or run.name[:8], int(started) / 1000 if started.isdigit() else None)
        for path in sorted(p for p in (run / "metrics").rglob("*") if p.is_file()):
            key = path.relative_to(run / "metrics").as_posix()
            lines = (line.split() for line in path.read_text().splitlines())
            made.curves[key] = sorted((int(w[2]) if len(w) > 2 else n, infinite(float(w[1]))) for n, w in enumerate(lines) if len(w) > 1)
        if (run / "params").is_dir():
            made.settings = {p.name: p.read_text().strip() for p in sorted((run / "params").iterdir()) if p.is_file()}
        if made.curves:
            yield made


def write(uri: str | None, name: str, curves: Any, settings: dict[str, str], tags: dict[str, str]) -> str:
    """One run of theirs, in batches; returns its id. Raises UsageError without MLflow."""
    try:
        from mlflow.entities import Metric, Param, RunTag
        from mlflow.tracking import MlflowClient
    except ImportError as error:
        raise UsageError("MLflow is not installed: pip install mlflow-skinny sqlalchemy alembic brings what its client needs") from error
    client = MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("sabueso")
    run = client.create_run(experiment.experiment_id if experiment else client.create_experiment("sabueso"), run_name=name)
    id_, now = run.info.run_id, run.info.start_time
    client.log_batch(id_, params=[Param(k, v[:500]) for k, v in list(settings.items())[:100]], tags=[RunTag(k, v[:5000]) for k, v in tags.items()])
    held: list[Any] = []
    for tag, points in curves:
        for step, value in points:
            held.append(Metric(tag, value, now, step))
            if len(held) == BATCH:
                client.log_batch(id_, metrics=held)
                held = []
    if held:
        client.log_batch(id_, metrics=held)
    client.set_terminated(id_)
    return str(id_)
