"""The program under `sabueso run` is what it was: arguments, streams, signals, exit status; its children are watched too."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from programs import diagnosed, sabueso

import sabueso as package

QUICK = "import sys; sys.stdout.write('out'); sys.stderr.write('err')"


def write(folder: Path, source: str, name: str = "prog.py") -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(source))
    return path


def bare(*arguments: str, cwd: Path, **more) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, timeout=60, **more)


def own_part(text: str) -> str:
    """stderr without our report, which comes last."""
    return text.split("sabueso: ")[0]


def facts(folder: Path, name: str) -> list:
    return package.open(dir=str(folder / ".sabueso/runs")).facts(name)


def processes(folder: Path) -> int:
    """How many processes left evidence or an empty log: told by the overhead fact that each writes at its end."""
    return len({f.process for f in facts(folder, "mark")})


PROGRAM = """\
    import sys, os
    print(sys.argv, __name__, __file__ if "__file__" in globals() else None, sys.path[0])
    print(sorted(k for k in os.environ if k.startswith("PYTHON") and k != "PYTHONPATH" and k != "PYTHONDONTWRITEBYTECODE"))
    print(sys.stdin.read(), end="")
    print("to stderr", file=sys.stderr)
    sys.exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize("status", ["0", "3", "255"])
def test_same_streams_arguments_and_exit_status(tmp_path: Path, status: str) -> None:
    write(tmp_path, PROGRAM)
    seen = sabueso("run", "prog.py", status, "--json", "-x", cwd=tmp_path, input="given\n")
    plain = bare("prog.py", status, "--json", "-x", cwd=tmp_path, input="given\n")
    assert (seen.returncode, seen.stdout) == (plain.returncode, plain.stdout)
    assert own_part(seen.stderr) == plain.stderr


@pytest.mark.parametrize("form", [["-m", "prog", "0"], ["-c", "import prog", "0"], ["pkg", "0"], ["-m", "pkg.deep", "0"]])
def test_other_ways_to_start(tmp_path: Path, form: list[str]) -> None:
    write(tmp_path, PROGRAM)
    (tmp_path / "pkg").mkdir()
    write(tmp_path / "pkg", PROGRAM, "__main__.py")
    write(tmp_path / "pkg", PROGRAM, "deep.py")
    seen, plain = sabueso("run", *form, cwd=tmp_path, input=""), bare(*form, cwd=tmp_path, input="")
    assert (seen.returncode, seen.stdout) == (plain.returncode, plain.stdout)
    assert own_part(seen.stderr) == plain.stderr


def test_same_traceback(tmp_path: Path) -> None:
    write(tmp_path, "def f(x):\n    return 1 / x\n\ntry:\n    f(0)\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e\n")
    seen, plain = sabueso("run", "prog.py", cwd=tmp_path), bare("prog.py", cwd=tmp_path)
    assert seen.returncode == plain.returncode == 1
    assert own_part(seen.stderr) == plain.stderr
    assert "the program failed with KeyError: 'k'" in seen.stderr


def test_persons_own_excepthook_and_sitecustomize_stay(tmp_path: Path) -> None:
    write(tmp_path, "import sys; sys.marked = 1\n'-m' in sys.orig_argv or print('site')\n", "sitecustomize.py")
    write(tmp_path, "import sys\nprint(sys.marked)\nsys.excepthook = lambda *a: print('hook', a[0].__name__)\nraise ValueError\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    seen = sabueso("run", "prog.py", cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)})
    plain = bare("prog.py", cwd=tmp_path, env=env)
    assert (seen.returncode, seen.stdout) == (plain.returncode, plain.stdout)
    assert "the program failed with ValueError" in seen.stderr


def killed_in_training(tmp_path: Path, number: int, extra: str = "") -> subprocess.CompletedProcess[str]:
    write(
        tmp_path,
        f"""\
        import os, signal, time
        import torch
        {extra}
        model = torch.nn.Linear(4, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(10_000):
            loss = model(torch.ones(8, 4)).pow(2).mean()
            opt.zero_grad(); loss.backward(); opt.step()
            if step == 50:
                os.kill(os.getpid(), {number})
            if step > 50:
                time.sleep(0.01)
        """,
    )
    return sabueso("run", "--json", "out.json", "prog.py", cwd=tmp_path)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT])
def test_killed_in_training_ends_in_a_diagnosis(tmp_path: Path, number: signal.Signals) -> None:
    done = killed_in_training(tmp_path, number)
    assert done.returncode == -number
    run = json.loads((tmp_path / "out.json").read_text())["run"]
    assert run["outcome"] == "killed" and run["exit_status"] == 128 + number
    assert number.name in done.stderr
    steps = package.open(dir=str(tmp_path / ".sabueso/runs")).series("train_loss")
    assert steps and steps[0].steps.max() >= 50


def test_interrupt_reaches_the_program_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        """\
        import time, sys
        print("up", flush=True)
        try:
            time.sleep(30)
        except KeyboardInterrupt:
            print("tidy", flush=True)
            time.sleep(0.5)
            print("done", flush=True)
            raise
        """,
    )
    command = [sys.executable, "-m", "sabueso", "run", "prog.py"]
    child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert child.stdout is not None and child.stdout.readline() == "up\n"
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert out == "tidy\ndone\n"
    assert child.returncode == -signal.SIGINT
    assert "the program was interrupted" in err


def test_sigterm_to_us_is_handed_on(tmp_path: Path) -> None:
    write(
        tmp_path,
        """\
        import signal, sys, time
        signal.signal(signal.SIGTERM, lambda *a: sys.exit(7))
        print("up", flush=True)
        time.sleep(30)
        """,
    )
    command = [sys.executable, "-m", "sabueso", "run", "prog.py"]
    child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "up\n"
    child.terminate()
    child.communicate(timeout=30)
    assert child.returncode == 7


CHILD = """\
import sys
sys.path.insert(0, {root!r})
from sabueso.launch import child
assert child.active is not None, "not watched"
child.active.fact("stage_seen", {{"stage": {stage!r}}})
"""
ROOT = str(Path(package.__file__).parent.parent)
SPAWNING = {
    "subprocess": "import subprocess, sys\nsubprocess.run([sys.executable, 'leaf.py'], check=True)\n",
    "execv": "import os, sys\nfrom sabueso.launch import child\nchild.active.fact('stage_seen', {'stage': 'ingest'})\nos.execv(sys.executable, [sys.executable, 'leaf.py'])\n",
    "fork": "import os\npid = os.fork()\nif pid == 0:\n    import leaf\n    os._exit(0)\nos.waitpid(pid, 0)\n",
    "mp-fork": "import multiprocessing as mp\nif __name__ == '__main__':\n    p = mp.get_context('fork').Process(target=__import__, args=('leaf',))\n    p.start(); p.join()\n    assert p.exitcode == 0\n",
    "mp-spawn": "import multiprocessing as mp\nif __name__ == '__main__':\n    p = mp.get_context('spawn').Process(target=__import__, args=('leaf',))\n    p.start(); p.join()\n    assert p.exitcode == 0\n",
    "shell": "import os, sys\nassert os.system(sys.executable + ' leaf.py') == 0\n",
}  # fmt: skip


@pytest.mark.parametrize("how", SPAWNING)
def test_grandchildren_are_watched(tmp_path: Path, how: str) -> None:
    write(tmp_path, CHILD.format(root=ROOT, stage="evaluate"), "leaf.py")
    write(tmp_path, SPAWNING[how])
    done = sabueso("run", "prog.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    seen = [f["stage"] for f in facts(tmp_path, "stage_seen")]
    assert "evaluate" in seen
    assert how != "execv" or seen == ["ingest", "evaluate"]


def test_torchrun_ranks_are_watched(tmp_path: Path) -> None:
    write(
        tmp_path,
        """\
        import os
        import torch, torch.distributed as dist
        dist.init_process_group("gloo")
        torch.manual_seed(0)
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
        opt = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(5):
            x = torch.randn(8, 4, generator=torch.Generator().manual_seed(10 * step + dist.get_rank()))
            loss = model(x).pow(2).mean()
            opt.zero_grad(); loss.backward(); opt.step()
        os.write(1, f"rank {dist.get_rank()}\\n".encode())  # in one piece: two ranks write to one pipe
        dist.destroy_process_group()
        """,
    )
    done = sabueso("run", "torchrun", "--nproc-per-node", "2", "prog.py", cwd=tmp_path, env={"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")) == ["", "rank 0", "rank 1"]
    held = package.open(dir=str(tmp_path / ".sabueso/runs")).series("train_loss")
    assert len({s.process for s in held}) == 2


def test_pytest_is_watched(tmp_path: Path) -> None:
    write(tmp_path, CHILD.format(root=ROOT, stage="deploy") + "\ndef test_x():\n    pass\n", "test_x.py")
    done = sabueso("run", "pytest", "-q", "-p", "no:cacheprovider", cwd=tmp_path)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
    assert {f["stage"] for f in facts(tmp_path, "stage_seen")} == {"deploy"}


def test_run_inside_a_run_is_a_run_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, "print('inner')", "inner.py")
    write(tmp_path, "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'sabueso', 'run', 'inner.py'], check=True)")
    assert sabueso("run", "prog.py", cwd=tmp_path).returncode == 0
    assert len(list((tmp_path / ".sabueso/runs").glob("*/run.json"))) == 2


def test_background_child_does_not_hold_us(tmp_path: Path) -> None:
    write(tmp_path, "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(20)'], stdout=-3, stderr=-3)\n")
    began = time.monotonic()
    assert sabueso("run", "prog.py", cwd=tmp_path).returncode == 0
    assert time.monotonic() - began < 10


def test_open_files_are_handed_on(tmp_path: Path) -> None:
    write(tmp_path, "import sys\nprint(open(sys.argv[1]).read())")
    command = f"{sys.executable} -m sabueso run prog.py <(echo through)"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout == "through\n\n", done.stderr


def test_notebook(tmp_path: Path) -> None:
    sources = ["import sys\nx = 0", "print('hello')", "def f(x):\n    return 1 / x", "# the bad one\nf(x)"]
    cells = [{"cell_type": "code", "source": s, "metadata": {}, "outputs": [], "execution_count": None} for s in sources]
    (tmp_path / "nb.ipynb").write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}))
    before = (tmp_path / "nb.ipynb").read_bytes()
    done = sabueso("run", "--json", "out.json", "nb.ipynb", cwd=tmp_path)
    assert done.returncode == 1
    assert "hello" in done.stdout and "ZeroDivisionError" in done.stderr
    assert (tmp_path / "nb.ipynb").read_bytes() == before
    crash = json.loads((tmp_path / "out.json").read_text())["run"]["crash"]
    assert (crash["type"], crash["file"]) == ("ZeroDivisionError", "nb.ipynb#cell3")
    assert crash["line"] == 2


def test_diagnosed_by_name(tmp_path: Path) -> None:
    write(tmp_path, QUICK)
    assert diagnosed("prog.py", tmp_path)["run"]["outcome"] == "succeeded"


def test_watch_within_a_notebook_names_the_cell(tmp_path: Path) -> None:
    sources = [
        "import torch, sabueso",
        "model = torch.nn.Linear(3, 1)\ntry:\n    with sabueso.watch() as seen:\n        model(torch.ones(2, 4))\nexcept RuntimeError:\n    pass",
        "print([(c.check, c.place.file, c.place.line) for c in seen.diagnosis.culprits])",
    ]
    cells = [{"cell_type": "code", "source": s, "metadata": {}, "outputs": [], "execution_count": None} for s in sources]
    (tmp_path / "nb.ipynb").write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}))
    done = bare("-m", "sabueso.launch.notebook", "nb.ipynb", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "CULPRIT shape-mismatch" in done.stdout and "[('shape-mismatch', 'notebook#cell2', " in done.stdout, done.stdout


def test_ctrl_c_on_a_terminal_reaches_the_program_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        """\
        import time
        try:
            print("up", flush=True)
            time.sleep(30)
        except KeyboardInterrupt:
            time.sleep(0.6)
            print("tidy", flush=True)
            raise SystemExit(9)
        """,
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execv(sys.executable, [sys.executable, "-m", "sabueso", "run", "prog.py"])
    text = b""
    while b"up" not in text:
        text += os.read(terminal, 100)
    os.write(terminal, b"\x03")
    try:
        while piece := os.read(terminal, 1000):
            text += piece
    except OSError:
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    assert b"tidy" in text and b"Traceback" not in text


def test_a_kill_is_seen_from_outside(tmp_path: Path) -> None:
    """What the program took of the machine, and the signal that ended it."""
    write(tmp_path, "import os, time\nheld = bytearray(200_000_000)\ntime.sleep(1.6)\nos.kill(os.getpid(), 9)\n")
    subprocess.run([sys.executable, "-m", "sabueso", "run", "prog.py"], cwd=tmp_path, capture_output=True, timeout=60)
    run = package.open(next((tmp_path / ".sabueso" / "runs").glob("2*")))
    (end,) = run.facts("program_end")
    assert end["signal"] == "SIGKILL" and end["peak"] > 200_000_000 and end["oom_kills"] == 0
    assert max(run.series("resident_memory")[0].values) == end["peak"]
