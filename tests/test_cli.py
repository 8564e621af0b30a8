"""The commands as a person types them."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from programs import sabueso

CRASHING = """\
import torch
model = torch.nn.Linear(8, 2)
x = torch.randn(4, 9)
model(x)
"""


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    (tmp_path / "prog.py").write_text(CRASHING)
    return tmp_path


def test_crash_report_comes_after_the_traceback(crashed: Path) -> None:
    done = sabueso("run", "prog.py", cwd=crashed)
    assert done.returncode == 1
    traceback, report = done.stderr.split("─" * 80 + "\n")
    assert traceback.startswith("Traceback") and traceback.rstrip().endswith("(4x9 and 8x2)")
    assert "site-packages/sabueso" not in traceback and "src/sabueso" not in traceback
    assert re.search(r"^CULPRIT shape-mismatch +prog.py:\d$", report, re.M)
    assert len(report.splitlines()) <= 25
    assert report.splitlines()[-1].split() == ["next", "sabueso", "explain", "shape-mismatch"]


def test_show_tells_the_same_and_diagnose_finds_it_again(crashed: Path) -> None:
    report = sabueso("run", "prog.py", cwd=crashed).stderr.split("─" * 80 + "\n")[1]
    assert sabueso("show", cwd=crashed).stdout.split("─" * 80 + "\n")[1] == report
    assert sabueso("diagnose", cwd=crashed).stdout.split("─" * 80 + "\n")[1] == report


def test_show_from_another_folder_still_has_the_code(crashed: Path) -> None:
    sabueso("run", "prog.py", cwd=crashed)
    run = next((crashed / ".sabueso/runs").iterdir())
    assert "│ model(x)" in sabueso("show", str(run), cwd=crashed.parent).stdout


@pytest.mark.parametrize("form, begins", [("json", "{"), ("markdown", "## sabueso"), ("sarif", "{"), ("github", "::error ")])
def test_formats(crashed: Path, form: str, begins: str) -> None:
    sabueso("run", "prog.py", cwd=crashed)
    shown = sabueso("show", "--format", form, cwd=crashed).stdout
    assert shown.startswith(begins)
    if begins == "{":
        json.loads(shown)
    assert begins in sabueso("run", "--format", form, "prog.py", cwd=crashed).stderr


def test_json(crashed: Path) -> None:
    sabueso("run", "--json", "out.json", "prog.py", cwd=crashed)
    data = json.loads((crashed / "out.json").read_text())
    assert data["format"] == 1 and data["run"]["outcome"] == "failed" and data["run"]["exit_status"] == 1
    assert data["culprits"][0]["check"] == "shape-mismatch"
    assert data["culprits"][0]["place"]["file"] == "prog.py"


@pytest.mark.parametrize("option", [["--ignore", "shape-mismatch"], ["--select", "missing-values"]])
def test_select_and_ignore(crashed: Path, option: list[str]) -> None:
    done = sabueso("run", *option, "prog.py", cwd=crashed)
    assert done.returncode in (1, 2)
    assert "CULPRIT" not in done.stderr


def test_ignore_on_the_line(crashed: Path) -> None:
    sabueso("run", "--json", "out.json", "prog.py", cwd=crashed)
    line = json.loads((crashed / "out.json").read_text())["culprits"][0]["place"]["line"]
    lines = CRASHING.splitlines()
    lines[line - 1] += "  # sabueso: ignore[shape-mismatch]"
    (crashed / "prog.py").write_text("\n".join(lines))
    assert "CULPRIT" not in sabueso("run", "prog.py", cwd=crashed).stderr


def test_strict(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("pass\n")
    (tmp_path / "bad.py").write_text(CRASHING.replace("model(x)", "try:\n    model(x)\nexcept RuntimeError:\n    raise SystemExit(5)"))
    assert sabueso("run", "--strict", "good.py", cwd=tmp_path).returncode == 0
    assert sabueso("run", "--strict", "bad.py", cwd=tmp_path).returncode == 5, "the program's own status comes first"


def test_healthy_run_is_two_lines(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text("import torch\ntorch.nn.Linear(3, 1)(torch.ones(2, 3))\n")
    done = sabueso("run", "prog.py", cwd=tmp_path)
    assert done.returncode == 0 and len(done.stderr.splitlines()) == 2, done.stderr
    assert done.stdout == ""


def test_runs_table(crashed: Path) -> None:
    sabueso("run", "prog.py", cwd=crashed)
    lines = sabueso("runs", cwd=crashed).stdout.splitlines()
    assert lines[0].split() == ["started", "run", "outcome", "verdict", "seconds"]
    assert re.search(r"-prog +failed +shape-mismatch +\d+\.\d$", lines[1])


def test_runs_table_reads_no_evidence(tmp_path: Path) -> None:
    for n in range(3):
        folder = tmp_path / ".sabueso/runs" / f"2026010{n}-x"
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps({"layout": 1, "id": folder.name, "started": 0}))
    done = sabueso("runs", "-n", "2", cwd=tmp_path)
    assert done.returncode == 0 and "unfinished" in done.stdout and done.stdout.endswith("1 older ones: `sabueso runs -n 3`\n")


def test_checks_by_stage(tmp_path: Path) -> None:
    text = sabueso("checks", cwd=tmp_path).stdout
    assert re.search(r"^preprocess$", text, re.M) and re.search(r"^  shape-mismatch +error +\S", text, re.M)
    assert "shape-mismatch" not in sabueso("checks", "no-such-word", cwd=tmp_path).stdout


def test_explain(tmp_path: Path) -> None:
    text = sabueso("explain", "shape-mismatch", cwd=tmp_path).stdout
    for heading in ("What it means", "Why it is bad", "Evidence", "Remedy", "Fault", "Control"):
        assert re.search(rf"^{heading}$", text, re.M)
    assert "-----" not in text


def on_a_terminal(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> str:
    """What a terminal would get."""
    parent, child = pty.openpty()
    full = {**os.environ, "TERM": "xterm", "COLUMNS": "100", **(env or {})}
    full.pop("NO_COLOR", None) if "NO_COLOR" not in (env or {}) else None
    full.pop("CI", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "sabueso", *arguments], cwd=folder, stdin=child, stdout=child, stderr=child, env=full, start_new_session=True
    )
    os.close(child)
    text = b""
    while True:
        try:
            piece = os.read(parent, 4096)
        except OSError:
            break
        if not piece:
            break
        text += piece
    process.wait()
    os.close(parent)
    return text.decode()


def test_colour_only_on_a_terminal(crashed: Path) -> None:
    sabueso("run", "prog.py", cwd=crashed)
    assert "\x1b[" not in sabueso("show", cwd=crashed).stdout
    assert "\x1b[1;31mCULPRIT" in on_a_terminal(crashed, "show")
    assert "\x1b[" not in on_a_terminal(crashed, "show", env={"NO_COLOR": "1"})
    assert "\x1b[" not in on_a_terminal(crashed, "show", env={"TERM": "dumb"})
