"""Whatever a person gets wrong: one clear line that says what to do, exit 2, no traceback. Nothing of ours keeps the program from running."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from programs import sabueso

PROGRAM = "print('ran')\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "prog.py").write_text(PROGRAM)
    return tmp_path


def refused(done: subprocess.CompletedProcess[str], *said: str) -> str:
    """Exit 2 and one line on stderr (click shows its usage before it)."""
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr and done.stdout == ""
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(("sabueso: ", "Error: ")), done.stderr
    assert not last.startswith("sabueso: ") or done.stderr.count("\n") == 1, done.stderr
    for part in said:
        assert part in last, last
    return last


@pytest.mark.parametrize(
    "arguments, said",
    [
        ([], "nothing to run: give a script"),
        (["absent.py"], "no script absent.py: check the path"),
        (["absent.ipynb"], "no notebook absent.ipynb"),
        (["absent"], "no script, module or command 'absent'"),
        (["ls"], "ls does not start Python"),
        (["-m"], "-m needs a module"),
        (["-c"], "-c needs a line of code"),
        (["--json", "no/such/out.json", "prog.py"], "there is no folder"),
        (["--format", "xml", "prog.py"], "'xml'"),
        (["--budget", "7", "prog.py"], "7"),
        (["--select", "missing-zero-grat", "prog.py"], "no check named 'missing-zero-grat'"),
        (["--ignore", "x,y", "prog.py"], "no check named 'x'"),
    ],
)
def test_run(folder: Path, arguments: list[str], said: str) -> None:
    refused(sabueso("run", *arguments, cwd=folder), said)
    assert not (folder / ".sabueso").exists(), "nothing was started"


def test_unknown_command_and_option(folder: Path) -> None:
    refused(sabueso("rum", "prog.py", cwd=folder), "No such command 'rum'")
    refused(sabueso("show", "--al", cwd=folder), "--al")


@pytest.mark.parametrize("command", ["show", "diagnose", "runs"])
def test_no_runs_yet(folder: Path, command: str) -> None:
    refused(sabueso(command, cwd=folder), "no runs in .sabueso/runs", "sabueso run")


def test_unknown_run_and_ambiguous_run(folder: Path) -> None:
    for _ in range(2):
        assert sabueso("run", "prog.py", cwd=folder).returncode == 0
    refused(sabueso("show", "nope", cwd=folder), "no run named 'nope'", "sabueso runs")
    refused(sabueso("show", "prog", cwd=folder), "fits 2 runs", "more of the name")


def test_unknown_check_gets_a_near_name(folder: Path) -> None:
    refused(sabueso("explain", "shape-mismatsh", cwd=folder), "did you mean shape-mismatch", "sabueso checks")


@pytest.mark.parametrize("text", ["[tool.sabueso]\nselct = []\n", "[tool.sabueso]\nignore = ['nope']\n", "[tool.sabueso\n"])
def test_broken_configuration(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text)
    refused(sabueso("run", "prog.py", cwd=folder), "pyproject.toml")


def test_no_notebook(folder: Path) -> None:
    pytest.importorskip("jupyter_client")
    (folder / "bad.ipynb").write_text("{}")
    done = sabueso("run", "bad.ipynb", cwd=folder)
    assert done.returncode == 2 and "bad.ipynb is no notebook that can be read" in done.stderr
    assert "Traceback" not in done.stderr


def stored(folder: Path) -> Path:
    assert sabueso("run", "prog.py", cwd=folder).returncode == 0
    return next((folder / ".sabueso/runs").iterdir())


def test_newer_layout(folder: Path) -> None:
    run = stored(folder)
    meta = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**meta, "layout": 99}))
    refused(sabueso("diagnose", cwd=folder), "newer sabueso", "upgrade")


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"layout": "x"}', b"\xff\xfe\x00"])
def test_damaged_head(folder: Path, damage: bytes) -> None:
    run = stored(folder)
    (run / "run.json").write_bytes(damage)
    refused(sabueso("diagnose", cwd=folder), "no readable run")
    assert sabueso("runs", cwd=folder).returncode == 0


@pytest.mark.parametrize("damage", [b"", b"not a database", None])
def test_damaged_database(folder: Path, damage: bytes | None) -> None:
    run = stored(folder)
    if damage is None:
        (run / "run.db").unlink()
    else:
        (run / "run.db").write_bytes(damage)
    refused(sabueso("diagnose", cwd=folder), "run.db", "again under `sabueso run`")
    shown = sabueso("show", cwd=folder)
    assert shown.returncode == 0, "what was told at the end of the run is still there"


def test_damaged_diagnosis_is_made_again(folder: Path) -> None:
    run = stored(folder)
    (run / "diagnosis.json").write_text("{")
    done = sabueso("show", cwd=folder)
    assert done.returncode == 0 and "sabueso" in done.stdout


# ---- the program always runs


def test_home_that_is_a_file(folder: Path) -> None:
    (folder / ".sabueso").write_text("in the way")
    done = sabueso("run", "prog.py", cwd=folder)
    assert done.returncode == 0 and done.stdout == "ran\n"
    assert re.search(r"^sabueso: .*can't be written .*nothing of this run is kept; use --dir", done.stderr, re.M)


def test_dir_that_can_not_be_made(folder: Path) -> None:
    done = sabueso("run", "--dir", "/proc/nope/runs", "prog.py", cwd=folder)
    assert done.returncode == 0 and done.stdout == "ran\n" and "use --dir" in done.stderr


def test_no_place_at_all(folder: Path) -> None:
    env = {"TMPDIR": str(folder / "absent"), "TEMP": "", "TMP": ""}
    (folder / ".sabueso").write_text("in the way")
    done = sabueso("run", "prog.py", cwd=folder, env=env)
    assert done.returncode == 0 and done.stdout == "ran\n" and "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_for_the_json(folder: Path) -> None:
    done = sabueso("run", "--json", "/dev/full", "prog.py", cwd=folder)
    assert done.returncode == 0 and done.stdout == "ran\n" and "Traceback" not in done.stderr
    assert "No space left" in done.stderr


def test_disk_that_fills_up(folder: Path) -> None:
    """A limit on the size of files stands for the full disk: the log can't grow and the database can't either."""
    (folder / "prog.py").write_text(
        "from sabueso.launch import child\nfor n in range(3000):\n    child.active.fact('stage_seen', {'stage': 'train', 'x': 'y' * 2000})\nprint('ran')\n"
    )
    code = (
        "import resource, signal, sys, os\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))\n"
    )
    code += "os.execv(sys.executable, [sys.executable, '-m', 'sabueso', 'run', 'prog.py'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=60, env=dict(os.environ))
    assert done.returncode == 0 and done.stdout == "ran\n", done.stderr
    assert "Traceback" not in done.stderr


def test_run_folder_taken_away_while_it_runs(folder: Path) -> None:
    (folder / "prog.py").write_text("import shutil\nshutil.rmtree('.sabueso')\nprint('ran')\n")
    done = sabueso("run", "prog.py", cwd=folder)
    assert done.returncode == 0 and done.stdout == "ran\n" and "Traceback" not in done.stderr
    assert "sabueso: " in done.stderr


def test_closed_stderr(folder: Path) -> None:
    done = subprocess.run(f"{sys.executable} -m sabueso run prog.py 2>&-", shell=True, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout == "ran\n"


def test_pipe_that_closes(folder: Path) -> None:
    done = subprocess.run(f"{sys.executable} -m sabueso checks | true", shell=True, cwd=folder, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr
