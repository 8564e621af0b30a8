"""Round trips with the tools that people use: numbers come back as they went, NaN and infinities too. An interpreter that has TensorBoard and
MLflow (`make oracle`) is asked as well where there is one."""

from __future__ import annotations

import gzip
import json
import math
import os
import sqlite3
import struct
import subprocess
import sys
import threading
import types
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner
from made import HOSTILE, begun, diagnosis_of, ended, finished

from sabueso.adapters import mlflow as mlflow_adapter
from sabueso.adapters import tensorboard as tensorboard_adapter
from sabueso.cli import cli
from sabueso.errors import StoreError, UsageError
from sabueso.exchange import mlflow, tensorboard, trace
from sabueso.exchange.roles import role
from sabueso.show import junit
from sabueso.store.browse import Browser
from sabueso.store.layout import runs_in
from sabueso.store.reader import open_run
from sabueso.store.writer import Writer
from sabueso.wiring import kept

ODD = [0.5, float("nan"), float("inf"), float("-inf"), -0.0, 1e300, -1e300]
ORACLE = os.environ.get("SABUESO_ORACLE") or str(Path(__file__).parent.parent / "build" / "oracle" / "bin" / "python")
oracle = pytest.mark.skipif(not Path(ORACLE).exists(), reason="no interpreter with TensorBoard and MLflow: `make oracle` makes one")


def same(a: Any, b: Any) -> bool:
    """Bit for bit, but that one NaN is as good as another."""
    return len(a) == len(b) and all(struct.pack("d", x) == struct.pack("d", y) or x != x and y != y for x, y in zip(a, b))


def asked(code: str, *args: str, cwd: Path) -> Any:
    """What the other interpreter prints last, as JSON."""
    done = subprocess.run([ORACLE, "-W", "ignore", "-c", code, *args], capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def sabueso(*words: str, home: Path) -> str:
    """A command's output; it must succeed."""
    done = CliRunner().invoke(cli, [*words, "--dir", str(home)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


# ---- TensorBoard


def test_event_files_round_trip(tmp_path: Path) -> None:
    path = tensorboard.write(tmp_path / "a", [("x/<y>", list(enumerate(ODD))), ("far", [(1 << 40, 1.0)])])
    found = tensorboard.read(tmp_path)[path.parent]
    assert [s for s, _ in found["x/<y>"]] == list(range(7)) and found["far"] == [(1 << 40, 1.0)]
    assert same([v for _, v in found["x/<y>"]], ODD)


def test_torn_tail_and_damage(tmp_path: Path) -> None:
    path = tensorboard.write(tmp_path, [("x", [(n, float(n)) for n in range(10)])])
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    assert len(tensorboard.read(path)[tmp_path]["x"]) == 9
    path.write_bytes(whole[:40] + bytes([whole[40] ^ 1]) + whole[41:])
    with pytest.raises(StoreError, match="damaged"):
        tensorboard.read(path)
    with pytest.raises(UsageError, match="no event file"):
        tensorboard.read(tmp_path / "nothing")


def test_checksum_is_castagnoli() -> None:
    crc = tensorboard.masked(b"123456789")
    assert ((crc - 0xA282EAD8 & 0xFFFFFFFF) >> 17 | (crc - 0xA282EAD8) << 15 & 0xFFFFFFFF) == 0xE3069283  # RFC 3720


@oracle
def test_tensorboard_reads_what_we_write(tmp_path: Path) -> None:
    tensorboard.write(tmp_path / "a", [("x", list(enumerate(ODD[:5]))), ("big", [(3, 1e300)])])
    code = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
a = EventAccumulator('a', size_guidance={'scalars': 0}); a.Reload()
print(json.dumps([[e.step, str(e.value)] for e in a.Scalars('x')] + [list(a.Tags()['tensors'])]))"""
    *points, tensors = asked(code, cwd=tmp_path)
    assert [s for s, _ in points] == [0, 1, 2, 3, 4] and same([float(v) for _, v in points], ODD[:5])
    assert tensors == ["big"]


@oracle
def test_we_read_what_tensorboard_writes(tmp_path: Path) -> None:
    code = """
import tensorboard.compat.proto.event_pb2 as e, tensorboard.compat.proto.summary_pb2 as s
from tensorboard.summary.writer.event_file_writer import EventFileWriter
w = EventFileWriter('b')
for n, v in enumerate([0.5, float('nan'), float('inf'), float('-inf'), -0.0]):
    w.add_event(e.Event(step=n, wall_time=1.0, summary=s.Summary(value=[s.Summary.Value(tag='x', simple_value=v)])))
w.close(); print('1')"""
    asked(code, cwd=tmp_path)
    assert same([v for _, v in tensorboard.read(tmp_path)[tmp_path / "b"]["x"]], ODD[:5])


# ---- MLflow


def database(path: Path, runs: dict[str, dict[str, list[float]]]) -> Path:
    """A tracking database with the tables that are read."""
    with sqlite3.connect(path) as db:
        db.executescript("""create table runs(run_uuid text, name text, start_time integer, lifecycle_stage text);
            create table metrics(key text, value real, timestamp integer, run_uuid text, step integer, is_nan integer);
            create table params(key text, value text, run_uuid text);""")
        for n, (name, curves) in enumerate(runs.items()):
            db.execute("insert into runs values(?,?,?,'active')", (f"id{n}", name, 1000 * n))
            db.execute("insert into params values('lr','0.1',?)", (f"id{n}",))
            for key, values in curves.items():
                stored = [(0.0 if v != v else max(-mlflow.LARGEST, min(mlflow.LARGEST, v)), v != v) for v in values]
                db.executemany("insert into metrics values(?,?,0,?,?,?)", [(key, v, f"id{n}", s, nan) for s, (v, nan) in enumerate(stored)])
    return path


def test_mlflow_database(tmp_path: Path) -> None:
    path = database(tmp_path / "mlflow.db", {"a": {"x": [*ODD[:4], *ODD[5:]]}, "b": {"y": [1.0]}})
    b, a = mlflow.read(f"sqlite:///{path}")
    assert (a.name, b.name, a.settings) == ("a", "b", {"lr": "0.1"})
    assert same([v for _, v in a.curves["x"]], [*ODD[:4], *ODD[5:]])  # SQLite itself knows no -0.0
    assert [r.name for r in mlflow.read(str(path), only="id1")] == ["b"] and len(mlflow.read(str(tmp_path), most=1)) == 1


def test_mlflow_folders(tmp_path: Path) -> None:
    run = tmp_path / "mlruns" / "0" / "abc"
    (run / "metrics" / "val").mkdir(parents=True)
    (run / "params").mkdir()
    (run / "meta.yaml").write_text("run_name: 'old one'\nstart_time: 5000\n")
    (run / "metrics" / "val" / "loss").write_text("1 0.5 0\n2 nan 1\n3 1.7976931348623157e+308 2\n")
    (run / "params" / "lr").write_text("0.1\n")
    (found,) = mlflow.read(str(tmp_path / "mlruns"))
    assert found.name == "old one" and found.settings == {"lr": "0.1"} and same([v for _, v in found.curves["val/loss"]], [0.5, math.nan, math.inf])


@pytest.mark.parametrize("uri", ["http://127.0.0.1:9/", "postgresql://somewhere/db", "sqlite:///nothing.db", "no/such/folder"])
def test_mlflow_trouble_is_one_line(uri: str) -> None:
    with pytest.raises(UsageError):
        mlflow.read(uri)


class Server(BaseHTTPRequestHandler):
    """A tracking server that answers as MLflow 3 does: numbers of 64 bits and NaN as texts, a history in pages."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.endswith("experiments/search"):
            return self.answer({"experiments": [{"experiment_id": "0"}, {"experiment_id": "7"}]})
        assert asked["experiment_ids"] == ["0", "7"]
        info = {"run_id": "abc", "run_name": "old one", "start_time": 5000}
        self.answer({"runs": [{"info": info, "data": {"metrics": [{"key": "val/loss", "value": 1}], "params": [{"key": "lr", "value": "0.1"}]}}]})

    def do_GET(self) -> None:
        query = parse_qs(urlparse(self.path).query)
        assert query["metric_key"] == ["val/loss"] and query["run_id"] == ["abc"]
        second = query.get("page_token") == ["more"]
        points = [(2, mlflow.LARGEST), (3, -mlflow.LARGEST)] if second else [(0, 0.5), (1, "NaN")]
        told = {"metrics": [{"key": "val/loss", "value": v, "step": str(s), "timestamp": "1"} for s, v in points]}
        self.answer(told if second else told | {"next_page_token": "more"})

    def answer(self, told: dict[str, Any]) -> None:
        known = self.headers.get("authorization") == "Basic bWU6c2VjcmV0"
        body = json.dumps(told if known else {}).encode()
        self.send_response(200 if known else 401)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


def test_mlflow_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        address = f"127.0.0.1:{server.server_port}/"
        with pytest.raises(UsageError, match="401.*MLFLOW_TRACKING_TOKEN"):
            mlflow.read(f"http://{address}")
        (found,) = mlflow.read(f"http://me:secret@{address}")
        monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "me")
        monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "secret")
        assert mlflow.read(f"http://{address}")[0].id == found.id == "abc"
        made = CliRunner().invoke(cli, ["import", "mlflow", f"http://me:secret@{address}", "--dir", str(tmp_path)])
        assert made.exit_code == 0 and not any(b"secret" in p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()), made.output
        assert (found.name, found.started, found.settings) == ("old one", 5.0, {"lr": "0.1"})
        assert same([v for _, v in found.curves["val/loss"]], [0.5, math.nan, math.inf, -math.inf])
    finally:
        server.shutdown()
        server.server_close()


@oracle
@pytest.mark.heavy
def test_mlflow_round_trip(tmp_path: Path) -> None:
    """Through MLflow's own client and back."""
    points = [[n, str(v)] for n, v in enumerate(ODD[:4])]
    code = """
import json, sys
sys.path.insert(0, sys.argv[1])
from sabueso.exchange import mlflow
curves = [('x', [(s, float(v)) for s, v in json.loads(sys.argv[2])]), ('many', [(n, 1.0) for n in range(2500)])]
id_ = mlflow.write('sqlite:///m.db', 'named', curves, {'lr': '0.1'}, {'sabueso.verdict': 'x'})
print(json.dumps(id_))"""
    id_ = asked(code, str(Path(mlflow.__file__).parents[2]), json.dumps(points), cwd=tmp_path)
    (found,) = mlflow.read(str(tmp_path / "m.db"))
    assert found.id == id_ and found.settings == {"lr": "0.1"} and len(found.curves["many"]) == 2500
    assert same([v for _, v in found.curves["x"]], ODD[:4])


# ---- what is imported is diagnosed


@pytest.mark.parametrize(
    ("tag", "name", "part"),
    [("Loss/train", "train_loss", None), ("train_loss_step", "train_loss", None), ("loss", "train_loss", None), ("val_loss", "evaluation_error", "loss"),
     ("Loss/test", "evaluation_error", "loss"), ("valid/accuracy", "evaluation_error", "accuracy"), ("train/acc", "logged", None), ("lr-Adam", "learning_rate", None),
     ("grad_norm", "gradient_norm", None), ("optimizer/learning_rate", "learning_rate", None), ("gloss", "logged", None), ("fps", "logged", None)],
)  # fmt: skip
def test_roles(tag: str, name: str, part: str | None) -> None:
    kind, place = role(tag)
    assert kind == name and (part is None or place.tensor == part)


def curve(kind: str) -> list[float]:
    """80 values: falling, falling and then not a number, or rising again after a while."""
    rng = np.random.default_rng(1)
    fall = 2.0 / (1 + np.arange(80)) + 0.01 * rng.random(80)
    return {
        "falls": fall,
        "grows": np.where(np.arange(80) < 30, fall, np.exp((np.arange(80) - 30) / 3.0)),
        "breaks": np.where(np.arange(80) > 50, np.nan, fall),
        "rises": 0.4 + np.abs(np.arange(80) - 10) * 0.04,
        "dips": np.where(np.arange(80) == 7, np.nan, fall),
    }[kind].tolist()


@pytest.mark.parametrize(
    ("curves", "culprit"),
    [({"train_loss": "breaks"}, "nonfinite-loss"), ({"train_loss": "falls", "val_loss": "rises"}, "overfitting"), ({"train_loss": "falls", "val_loss": "falls"}, None),
     ({"train_loss": "dips"}, None), ({"reward": "breaks"}, None), ({"loss": "grows"}, "diverging-loss"), ({"critic_loss": "grows"}, None)],
)  # fmt: skip
def test_imported_curves_are_diagnosed(tmp_path: Path, curves: dict[str, str], culprit: str | None) -> None:
    made = {tag: curve(kind) for tag, kind in curves.items()}
    database(tmp_path / "mlflow.db", {"one": made})
    tensorboard.write(tmp_path / "tb" / "one", [(tag, list(enumerate(v))) for tag, v in made.items()])
    for form, source in (("mlflow", f"sqlite:///{tmp_path}/mlflow.db"), ("tensorboard", str(tmp_path / "tb"))):
        home = tmp_path / form
        assert "next: sabueso show" in sabueso("import", form, source, home=home)
        (folder,) = runs_in(home)
        found = kept(folder)
        assert [c.check for c in found.culprits] == ([culprit] if culprit else []) and not found.own_errors
        assert sum(len(open_run(folder).series(n)) for n in open_run(folder).names()) >= len(curves)
        sabueso("diagnose", folder.name, home=home)


# ---- exports


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("out"))


def test_exported_to_tensorboard_and_back(run: Path, tmp_path: Path) -> None:
    sabueso("export", "tensorboard", run.name, "-o", str(tmp_path / "tb"), home=run.parent)
    found = tensorboard.read(tmp_path / "tb")[tmp_path / "tb"]
    (loss,) = open_run(run).series("train_loss")
    assert same([v for _, v in found["train_loss"]], [float(np.float32(v)) for v in loss.values])
    assert "weight_gradient/layer.2/layer.2.weight" in found


def test_exported_to_parquet(run: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    sabueso("export", "parquet", run.name, "-o", str(tmp_path / "pq"), home=run.parent)
    held = parquet.read_table(tmp_path / "pq" / "series.parquet").to_pandas()
    (loss,) = open_run(run).series("train_loss")
    assert same(held[held.name == "train_loss"].value.tolist(), loss.values.tolist())
    facts = parquet.read_table(tmp_path / "pq" / "facts.parquet").to_pylist()
    assert {f["name"] for f in facts} >= {"table_read", "model"} and any(HOSTILE in f["value"] for f in facts)
    assert [f["check"] for f in parquet.read_table(tmp_path / "pq" / "findings.parquet").to_pylist() if f["culprit"]] == ["missing-zero-grad", "rows-lost"]


def test_exported_as_trace(run: Path, tmp_path: Path) -> None:
    sabueso("export", "trace", run.name, "-o", str(tmp_path / "t.json.gz"), home=run.parent)
    held = json.loads(gzip.decompress((tmp_path / "t.json.gz").read_bytes()), parse_constant=lambda x: pytest.fail(f"{x} is no JSON"))["traceEvents"]
    assert {e["ph"] for e in held} >= {"M", "i", "X"}
    assert all(e["ph"] == "M" or e["ts"] >= 0 for e in held) and all(e["dur"] >= 0 for e in held if e["ph"] == "X")
    (tmp_path / "plain.json").touch()
    assert trace.write(tmp_path / "plain.json", Browser(run), kept(run)).read_text().startswith("{")


def test_counters_lie_between_the_facts_that_know_their_step(tmp_path: Path) -> None:
    folder, recorder = begun(tmp_path)
    recorder.fact("table_read", {"table": "x"}, step=0)
    for step in range(100):
        recorder.point("train_loss", math.nan if step == 50 else 1.0, step)
    recorder.fact("table_read", {"table": "y"}, step=100)
    Writer(folder).close()
    ended(folder)
    made = trace.events(Browser(folder), diagnosis_of(folder))
    counters = [e["ts"] for e in made if e["ph"] == "C"]
    assert len(counters) == 99 and counters == sorted(counters)
    assert any(e["name"] == "train_loss not finite" and e["args"]["step"] == 50 for e in made)


def test_junit(run: Path) -> None:
    diagnosis = diagnosis_of(run)
    diagnosis.findings[0].says += "\x00\x1b[31m\ud800"
    root = ElementTree.fromstring(junit.render(diagnosis))
    assert root.get("failures") == "2" and root.get("skipped") == "1" and root.get("tests") == "6"
    (failure,) = [c for c in root.iter("testcase") if c.get("name") == "missing-zero-grad"]
    assert failure.get("line") == "5" and "explains nonfinite-loss" in failure.find("failure").text
    for suite in root:
        assert set(suite.keys()) == {"name", "tests", "failures", "errors", "skipped", "time"}
        assert int(suite.get("tests")) == len(suite)


# ---- what the person logs is captured


class Writers:
    """Stands for a SummaryWriter."""

    def __init__(self, log_dir: str) -> None:
        self.log_dir = log_dir

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None) -> str:
        return tag

    def add_scalars(self, main_tag: str, tag_scalar_dict: dict[str, float], global_step: int | None = None) -> None: ...

    def add_histogram(self, tag: str, values: Any, global_step: int | None = None) -> None: ...


def test_summary_writers_are_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX.writer", types.SimpleNamespace(SummaryWriter=Writers))
    folder, recorder = begun(tmp_path)
    was, undo = Writers.add_scalar, tensorboard_adapter.install(recorder)
    a, b = Writers("a"), Writers("b")
    for step, value in enumerate(ODD):
        assert a.add_scalar("x", np.float64(value), step) == "x"
        b.add_scalar(tag="x", scalar_value=value)
        a.add_scalars("pair", {"p": value}, step)
        a.add_histogram("h", np.arange(step + 1), step)
    a.add_scalar("text", "no number", 1)
    undo()
    assert Writers.add_scalar is was
    Writer(folder).close()
    held = open_run(folder)
    series = {(s.place.tensor, s.place.estimator): s for s in held.series("logged")}
    assert set(series) == {("x", None), ("x", "run 2"), ("pair/p", None)}
    assert all(same(s.values, ODD) and s.steps.tolist() == list(range(7)) for s in series.values())
    assert [p.place.step for p in held.profiles("logged_histogram")] == [0, 1, 3]


def test_mlflow_clients_are_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class MlflowClient:
        def log_metric(self, run_id: str, key: str, value: float, timestamp: int | None = None, step: int | None = None) -> None: ...

        def log_param(self, run_id: str, key: str, value: Any) -> None: ...

        def log_batch(self, run_id: str, metrics: Any = (), params: Any = (), tags: Any = ()) -> None: ...

    monkeypatch.setitem(sys.modules, "mlflow.tracking.client", types.SimpleNamespace(MlflowClient=MlflowClient))
    folder, recorder = begun(tmp_path)
    undo, client, one = mlflow_adapter.install(recorder), MlflowClient(), types.SimpleNamespace
    for step, value in enumerate(ODD):
        client.log_metric("r", "x", value, 0, step)
        client.log_batch(run_id="r", metrics=[one(key="y", value=value, step=step)], params=[one(key="p", value=step)])
    client.log_param("r", "lr", 0.1)
    undo()
    Writer(folder).close()
    held = open_run(folder)
    assert all(same(s.values, ODD) for s in held.series("logged")) and len(held.series("logged")) == 2
    assert {f["key"] for f in held.facts("logged_parameter")} == {"p", "lr"}
