"""Runs made by hand for what shows them: small ones through the recorder, huge ones straight into the chunks of a database."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import numpy as np

from sabueso.capture.recorder import Recorder
from sabueso.capture.summarise import profile
from sabueso.diagnoses import Blind, Diagnosis
from sabueso.findings import Finding
from sabueso.places import Place
from sabueso.show.json import dumps
from sabueso.store.layout import CHUNK, SCHEMA, VERSION
from sabueso.store.reader import POINTS_DTYPE
from sabueso.store.writer import Writer, create_folder, write_meta

HOSTILE = "<script>alert('x')</script>"
SCRIPT = "import torch\n\nfor x, y in batches:\n    loss = criterion(model(x), y)  # <b>not bold</b>\n    loss.backward()\n    opt.step()\n"


def meta_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "run.json").read_text())


def ended(folder: Path, **more: Any) -> None:
    """Say that the program succeeded."""
    write_meta(folder, {**meta_of(folder), "outcome": "succeeded", "exit_status": 0, "seconds": 3.2, **more})


def begun(tmp_path: Path, name: str = "train") -> tuple[Path, Recorder]:
    """A run that goes on."""
    (tmp_path / "train.py").write_text(SCRIPT)
    meta = {"cwd": str(tmp_path), "command": ["python", "train.py", f"--note={HOSTILE}"], "started": time.time(), "sabueso": "0.1.0"}
    folder = create_folder(tmp_path / "runs", name, meta)
    return folder, Recorder(folder)


def recorded(recorder: Recorder, tmp_path: Path, steps: int = 3000, shift: float = 0.0) -> None:
    """Curves with one spike, a NaN and an infinity; layers; columns with hostile names; facts."""
    here = {"file": str(tmp_path / "train.py"), "line": 5, "stage": "train"}
    for step in range(steps):
        loss = 1.0 / (1 + step) + shift * (step > 20)
        loss = {700: 1e6, 1700: float("nan"), 1701: float("inf")}.get(step, loss)
        recorder.point("train_loss", loss, step, Place("train"))
    for layer in range(6):
        for step in (0, 1, 2, 4, 8, 16):
            bad = layer == 2 and step == 8
            recorder.point(
                "weight_gradient",
                float("nan") if bad else 10.0 ** -(layer + step / 8),
                step,
                Place("train", module=f"layer.{layer}", tensor=f"layer.{layer}.weight"),
            )
    recorder.fact("table_read", {"table": HOSTILE, "how": "read_csv", "rows": 100, "columns": [HOSTILE, "age"]}, **(here | {"stage": "ingest"}))
    tree = [["", "Net", {}, None], ["layer", "Sequential", {}, None], *([f"layer.{n}", "Linear", {"weight": [4, 4]}, [here["file"], 1]] for n in range(6))]
    recorder.fact("model", {"name": "net", "class": HOSTILE, "number": 0, "parameters": 96, "tree": tree}, **here)
    recorder.fact("experiment", {"change": "learning rate / 10", "steps": 20, "before": 2.0, "after": float("inf"), "helps": False, "how": HOSTILE}, **here)
    for second in range(30):
        recorder.point("resident_memory", 3e8 + 1e6 * second, second)
    recorder.fact("correlation", {"table": HOSTILE, "columns": [HOSTILE, "age"], "values": [[1.0, float("nan")], [-0.7, 1.0]]}, **here)
    for name, values in {HOSTILE: np.arange(100.0), "age": np.r_[np.full(20, np.nan), np.arange(80.0)]}.items():
        for source in ("table.csv", "fit"):
            recorder.profile("column", profile(values, name).as_dict(), column=name, tensor=source, **here)


def diagnosis_of(folder: Path) -> Diagnosis:
    """A culprit with what follows, a rival, a note, a blind check."""
    cause = Finding(
        says=f"gradients are not cleared {HOSTILE}", place=Place("train", 1700, tensor="layer.2.weight", module="layer.2", column=HOSTILE, file="train.py", line=5),
        evidence=[("steps without", 299, 0), (HOSTILE, float("nan"), "finite")], remedy=f"call `opt.zero_grad()`\n    opt.zero_grad()  # {HOSTILE}", severity="error",
        confidence=0.95, verified="fact", check="missing-zero-grad", stage="train", id="F1", explains=["F2"],
    )  # fmt: skip
    effect = Finding("the loss is not finite", Place("evaluate", 1701), [], "", "error", 0.9, None, (), "nonfinite-loss", "evaluate", "F2", "F1")
    rival = Finding("rows were lost", Place("preprocess", row=[3, 9]), [], "count them", "warning", 0.6, None, (), "rows-lost", "preprocess", "F3")
    note = Finding("no seed", Place(), [], "", "note", 0.9, "fact", (), "unseeded", "reproducibility", "F4")
    run = {k: meta_of(folder).get(k) for k in ("id", "command", "cwd", "outcome", "exit_status", "seconds")} | {"stages": ["ingest", "train"], "overhead": 0.01}
    blind = [Blind("dead-units", ["units_dead"], "run without torch.compile")]
    return Diagnosis(run, [cause, effect, rival, note], [cause, rival], blind, ["overfitting"], [{"adapter": "pandas", "error": HOSTILE}])


def finished(tmp_path: Path, name: str = "train", steps: int = 3000, shift: float = 0.0) -> Path:
    """A whole run with its diagnosis."""
    folder, recorder = begun(tmp_path, name)
    recorded(recorder, tmp_path, steps, shift)
    Writer(folder).close()
    ended(folder)
    (folder / "diagnosis.json").write_text(dumps(diagnosis_of(folder)))
    ended(folder, verdict=["missing-zero-grad", "rows-lost"])
    return folder


def huge(home: Path, name: str, series: dict[tuple[str, str], np.ndarray]) -> Path:
    """A sealed run of (name, tensor) series, written as the writer would, but by whole arrays."""
    folder = create_folder(home, name, {"layout": VERSION, "cwd": str(home), "command": ["python", "train.py"], "started": time.time()})
    with sqlite3.connect(folder / "run.db") as db:
        db.executescript(SCHEMA)
        db.execute("insert into meta values('layout', ?)", (str(VERSION),))
        db.execute("insert into meta values('sealed', '1')")
        for number, ((kind, tensor), values) in enumerate(series.items(), 1):
            place = {"stage": "train"} | ({"tensor": tensor, "module": tensor.rpartition(".")[0]} if tensor else {})
            db.execute("insert into series values(?,?,?,?)", (number, 1, kind, json.dumps(place)))
            db.executemany("insert into chunk values(?,?,?,?,?,?,?,?,?)", chunks(number, values))
    ended(folder, verdict=[])
    (folder / "diagnosis.json").write_text(
        dumps(Diagnosis({"id": folder.name, "command": ["python", "train.py"], "outcome": "succeeded", "stages": ["train"]}, clean=["x"]))
    )
    return folder


def chunks(number: int, values: np.ndarray) -> Any:
    """Rows of the table of chunks."""
    points = np.zeros(len(values), POINTS_DTYPE)
    points["s"], points["v"] = np.arange(len(values)), values
    for first in range(0, len(values), CHUNK):
        part = points[first : first + CHUNK]
        good = part["v"][np.isfinite(part["v"])]
        ends = (float(good.min()), float(good.max()), float(good.sum())) if len(good) else (None, None, None)
        yield (number, int(part["s"][0]), int(part["s"][-1]), len(part), *ends, len(part) - len(good), part.tobytes())
