"""What was put comes back: exactly, in order, also from a run that was killed, is still written, or met a full disk."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import struct
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from sabueso.capture.recorder import Recorder
from sabueso.errors import StoreError
from sabueso.places import Place
from sabueso.store.layout import CHUNK
from sabueso.store.reader import open_run, own_errors
from sabueso.store.writer import Writer, create_folder, write_meta

ODD = [float("nan"), float("inf"), float("-inf"), -0.0, 5e-324, 1.7976931348623157e308, 0.1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return create_folder(tmp_path / "runs", "x", {"cwd": str(tmp_path)})


def bits(values: np.ndarray) -> bytes:
    return np.asarray(values, dtype="<f8").tobytes()


def test_series_round_trip_to_the_bit(folder: Path) -> None:
    recorder, writer = Recorder(folder), Writer(folder)
    values = np.array(ODD * 400)
    for step, value in enumerate(values):
        recorder.point("train_loss", value, step, Place(module="a.b"))
        if step % 700 == 0:
            writer.drain()
    writer.close()
    (series,) = open_run(folder).series("train_loss")
    assert len(values) > 2 * CHUNK
    assert bits(series.values) == bits(values) and (series.steps == np.arange(len(values))).all()
    assert series.place.module == "a.b" and series.first_nonfinite == 0


def test_chunk_summary(folder: Path) -> None:
    recorder, writer = Recorder(folder), Writer(folder)
    for step, value in enumerate([1.0, float("nan"), -3.0]):
        recorder.point("train_loss", value, step)
    writer.close()
    with sqlite3.connect(folder / "run.db") as db:
        assert db.execute("select first, last, count, low, high, total, nonfinite from chunk").fetchall() == [(0, 2, 3, -3.0, 1.0, -2.0, 1)]


def test_facts_round_trip(folder: Path) -> None:
    recorder, writer = Recorder(folder), Writer(folder)
    value = {
        "n": np.int64(3),
        "f": np.float32(0.5),
        "a": np.arange(3),
        "nan": float("nan"),
        "text": "ü \ud800 \x00",
        "none": None,
        "t": (1, 2),
    }
    recorder.fact("crash", value, column=["a", "b"], row=[1, 2])
    writer.close()
    (fact,) = open_run(folder).facts("crash")
    assert (fact["n"], fact["f"], fact["a"], fact["t"], fact["none"]) == (3, 0.5, [0, 1, 2], [1, 2], None)
    assert fact["nan"] != fact["nan"] and fact["text"].startswith("ü")
    assert fact.place.column == ["a", "b"] and fact.place.row == [1, 2] and fact.place.file == os.path.abspath(__file__)


def test_order_is_that_of_recording(folder: Path) -> None:
    recorder, writer = Recorder(folder), Writer(folder)
    for n in range(50):
        recorder.fact("crash", {"n": n})
        if n % 7 == 0:
            writer.drain()
    writer.close()
    assert [f["n"] for f in open_run(folder).facts("crash")] == list(range(50))


def test_logs_go_once_the_run_is_sealed(folder: Path) -> None:
    recorder, writer = Recorder(folder), Writer(folder)
    recorder.fact("crash", {"n": 1})
    assert list(folder.glob("*.log"))
    writer.close()
    assert not list(folder.glob("*.log"))


def test_run_still_being_written_is_read_without_touching_it(folder: Path) -> None:
    recorder, writer = Recorder(folder), Writer(folder)
    for step in range(10):
        recorder.point("train_loss", 1.0, step)
        writer.drain()
        before = {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
        assert len(open_run(folder).series("train_loss")[0]) == step + 1
        assert {p.name: p.stat().st_mtime_ns for p in folder.iterdir()} == before
    writer.close()
    assert len(open_run(folder).series("train_loss")[0]) == 10


def test_writer_that_fails_loses_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder, writer = Recorder(folder), Writer(folder)
    recorder.fact("crash", {"n": 0})
    writer.drain()
    taken = writer._take
    with monkeypatch.context() as patch:
        patch.setattr(writer, "_take", lambda *a: (_ for _ in ()).throw(sqlite3.OperationalError("disk is full")))
        recorder.fact("crash", {"n": 1})
        with pytest.raises(sqlite3.OperationalError):
            writer.drain()
    assert writer._take == taken
    recorder.fact("crash", {"n": 2})
    writer.close()
    assert [f["n"] for f in open_run(folder).facts("crash")] == [0, 1, 2]


def test_torn_tail_is_left_out(folder: Path) -> None:
    recorder = Recorder(folder)
    recorder.fact("crash", {"n": 0})
    (log,) = folder.glob("*.log")
    with open(log, "r+b") as f:
        used = struct.unpack_from("<Q", f.read(16), 8)[0]
        f.seek(used)
        f.write(struct.pack("<IHHd", 500, 3, 0, 0.0) + b'{"n": "cra')
        f.seek(8)
        f.write(struct.pack("<Q", used + 26))
    assert [f["n"] for f in open_run(folder).facts("crash")] == [0]


@pytest.mark.parametrize("junk", [b"", b"x", b"SBSOLOG1", b"SBSOLOG1" + b"\xff" * 40, os.urandom(4096)])
def test_junk_in_the_folder(folder: Path, junk: bytes) -> None:
    recorder = Recorder(folder)
    recorder.fact("crash", {"n": 0})
    (folder / "99999-0.log").write_bytes(junk)
    assert [f["n"] for f in open_run(folder).facts("crash")] == [0]


def test_a_file_of_the_person_s_is_left_alone(folder: Path) -> None:
    (folder / "notes.log").write_text("the person's own")
    writer = Writer(folder)
    writer.close()
    assert (folder / "notes.log").exists()


def test_no_run_there(folder: Path) -> None:
    with pytest.raises(StoreError, match="no readable run"):
        open_run(folder / "absent")


def test_own_errors_are_kept(folder: Path) -> None:
    recorder, writer = Recorder(folder), Writer(folder)
    recorder.own_error("torch", KeyError("x"))
    writer.close()
    (error,) = own_errors(folder)
    assert error["adapter"] == "torch" and "KeyError" in error["error"] and "torch" in recorder.off


def test_same_second_gives_another_folder(tmp_path: Path) -> None:
    made = {create_folder(tmp_path / "runs", "a/b c", {}).name for _ in range(3)}
    assert len(made) == 3 and all("/" not in n and " " not in n for n in made)
    assert (tmp_path / ".gitignore").read_text() == "*\n"


def test_head_is_replaced_in_one_move(folder: Path) -> None:
    write_meta(folder, {"layout": 1, "id": "x"})
    assert json.loads((folder / "run.json").read_text()) == {"layout": 1, "id": "x"}
    assert not list(folder.glob("*.part"))


@pytest.mark.parametrize("after", [0.05, 0.15, 0.3])
def test_kill_9_keeps_all_that_was_put(tmp_path: Path, after: float) -> None:
    folder = create_folder(tmp_path / "runs", "x", {})
    code = f"""
        import sys, time
        from sabueso.capture.recorder import Recorder
        recorder, n = Recorder({str(folder)!r}), 0
        while True:
            recorder.point("train_loss", float(n), n)
            print(n, flush=True)
            n += 1
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(after)
    child.send_signal(signal.SIGKILL)
    said = child.stdout.read().splitlines()
    last = int(said[-2] if len(said) > 1 else 0)  # the last line may be torn
    (series,) = open_run(folder).series("train_loss")
    assert (series.values == np.arange(len(series))).all() and len(series) > last


def test_readers_while_many_write(tmp_path: Path) -> None:
    folder = create_folder(tmp_path / "runs", "x", {})
    code = f"from sabueso.capture.recorder import Recorder\nr = Recorder({str(folder)!r})\nfor n in range(3000): r.point('train_loss', n, n)"
    children = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
    writer = Writer(folder)
    while any(c.poll() is None for c in children):
        writer.drain()
        open_run(folder)
    writer.close()
    held = open_run(folder).series("train_loss")
    assert sorted(len(s) for s in held) == [3000] * 4 and len({s.process for s in held}) == 4


def test_a_process_that_ended_leaves_no_unused_room(folder: Path) -> None:
    recorder = Recorder(folder)
    recorder.fact("crash", {"n": 1})
    recorder.at_exit()
    recorder.fact("crash", {"n": 2})
    (log,) = folder.glob("*.log")
    assert log.stat().st_size < 1000
    assert [f["n"] for f in open_run(folder).facts("crash")] == [1]


def test_log_grows(folder: Path) -> None:
    recorder = Recorder(folder)
    for n in range(40):
        recorder.fact("crash", {"n": n, "x": "y" * 100_000})
    assert [f["n"] for f in open_run(folder).facts("crash")] == list(range(40))


def test_forked_child_that_says_nothing_has_no_log(folder: Path) -> None:
    recorder = Recorder(folder)
    for said in (False, True):
        pid = os.fork()
        if pid == 0:
            if said:
                recorder.fact("crash", {"n": 7})
            os._exit(0)
        os.waitpid(pid, 0)
        assert len(list(folder.glob("*.log"))) == 1 + said
    assert [f["n"] for f in open_run(folder).facts("crash")] == [7]
