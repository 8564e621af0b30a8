"""`sabueso run --break`, `--isolate` and `--rows`: driven through a pseudo-terminal as a person would."""

from __future__ import annotations

import json
import os
import pty
import select
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from programs import sabueso

PLAIN = """
def grow(loss):
    factor = 2
    return loss * factor

loss = 1.0
for step in range(20):
    loss = grow(loss)
print("ended", loss)
"""
TORCH = """
import torch
w = torch.ones(3, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for step in range(20):
    x = torch.ones(3) * (float("nan") if step == 4 else 1.0)
    loss = (w * x).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def driven(folder: Path, arguments: list[str], say: list[str], seconds: float = 100.0) -> str:
    """Type each line when the debugger asks; returns all that the terminal showed."""
    master, slave = pty.openpty()
    child = subprocess.Popen([sys.executable, "-m", "sabueso", "run", *arguments], cwd=folder, stdin=slave, stdout=slave, stderr=slave, close_fds=True)
    os.close(slave)
    shown, asked, until = "", 0, time.monotonic() + seconds
    while time.monotonic() < until:
        if not select.select([master], [], [], 0.2)[0]:
            if child.poll() is not None:
                break
            continue
        try:
            shown += os.read(master, 4096).decode(errors="replace")
        except OSError:
            break
        if shown.count("(Pdb) ") > asked and asked < len(say):
            os.write(master, (say[asked] + "\n").encode())
            asked += 1
    child.kill() if child.poll() is None else None
    child.wait()
    os.close(master)
    return shown


def test_an_expression_stops_in_the_persons_frame(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text(PLAIN)
    shown = driven(tmp_path, ["--break", "loss > 10", "t.py"], ["p step, loss", "c"])
    assert "sabueso: stopped at t.py:7 for loss > 10" in shown and "(3, 16.0)" in shown and "ended 1048576.0" in shown, shown


def test_an_exception_is_looked_at_in_the_persons_frame(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text("import json\n\ndef read(text):\n    return json.loads(text)\n\nread('{')\n")
    shown = driven(tmp_path, ["--break", "error", "t.py"], ["p text", "up", "q"])
    assert "Traceback" in shown and "stopped for JSONDecodeError" in shown and "'{'" in shown, shown


def test_a_check_stops_at_the_first_bad_operation(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text(TORCH)
    shown = driven(tmp_path, ["--break", "nonfinite-values", "t.py"], ["p step", "c"])
    assert "stopped at t.py" in shown and "for nonfinite-values" in shown, shown
    assert "\r\n4\r\n" in shown, shown


def test_what_cannot_be_stopped_for_is_said(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text("pass")
    done = sabueso("run", "--break", "loss >", "t.py", cwd=tmp_path)
    assert done.returncode == 2 and "no expression" in done.stderr
    done = sabueso("run", "--break", "nonfinite-los", "t.py", cwd=tmp_path)
    assert done.returncode == 2 and "did you mean nonfinite-loss" in done.stderr
    assert sabueso("run", "--debugpy", "5678", "t.py", cwd=tmp_path).returncode == 2


def message(stream: Any) -> dict[str, Any]:
    """One message of the debug adapter protocol."""
    size = 0
    while (line := stream.readline().strip()) != b"":
        if line.lower().startswith(b"content-length:"):
            size = int(line.split(b":")[1])
    return json.loads(stream.read(size))


def test_debugpy_is_attached_to_by_its_protocol(tmp_path: Path) -> None:
    pytest.importorskip("debugpy")
    (tmp_path / "t.py").write_text(PLAIN)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "sabueso", "run", "--break", "loss > 10", "--debugpy", str(port), "t.py"]
    child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    try:
        assert child.stderr is not None
        while "waiting for a debugger" not in child.stderr.readline():
            assert child.poll() is None
        with socket.create_connection(("127.0.0.1", port), timeout=60) as link:
            stream, number = link.makefile("rb"), 0

            def send(name: str, **arguments: Any) -> None:
                nonlocal number
                number += 1
                body = json.dumps({"seq": number, "type": "request", "command": name, "arguments": arguments}).encode()
                link.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

            def until(kind: str, name: str) -> dict[str, Any]:
                while True:
                    told = message(stream)
                    if told["type"] == kind and told.get(kind if kind == "event" else "command") == name:
                        return told

            send("initialize", adapterID="test", clientID="test", pathFormat="path")
            until("response", "initialize")
            send("attach", justMyCode=False)
            until("event", "initialized")
            send("configurationDone")
            stopped = until("event", "stopped")
            send("stackTrace", threadId=stopped["body"]["threadId"])
            frames = until("response", "stackTrace")["body"]["stackFrames"]
            assert Path(frames[0]["source"]["path"]).name == "t.py" and frames[0]["name"] == "<module>"
            send("evaluate", expression="loss", frameId=frames[0]["id"])
            assert until("response", "evaluate")["body"]["result"] == "16.0"
            send("disconnect", terminateDebuggee=False)
        out, _ = child.communicate(timeout=60)
        assert "ended 1048576.0" in out
    finally:
        child.kill()


def test_a_slice_of_the_rows(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a\n" + "\n".join(map(str, range(1000))))
    (tmp_path / "t.py").write_text("import pandas as pd\nt = pd.read_csv('rows.csv')\nprint(len(t), t['a'].max())\n")
    done = sabueso("run", "--rows", "50", "t.py", cwd=tmp_path)
    assert done.stdout == "50 980\n" and "no fault shows on 50 rows" in done.stderr, done.stdout + done.stderr


def test_only_up_to_a_stage(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n3,4\n5,6\n")
    text = "import pandas as pd\nt = pd.read_csv('rows.csv')\nprint('read', flush=True)\nfrom sklearn.linear_model import LinearRegression\n"
    (tmp_path / "t.py").write_text(text + "import sabueso\nwith sabueso.stage('train'):\n    u = pd.read_csv('rows.csv')\nprint('trained')\n")
    done = sabueso("run", "--isolate", "preprocess", "t.py", cwd=tmp_path)
    assert done.stdout == "read\n" and "up to preprocess" in done.stderr, done.stdout + done.stderr
