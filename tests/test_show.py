"""What a person reads is a snapshot: `SABUESO_SNAPSHOTS=write pytest tests/test_show.py` regenerates them, the diff is reviewed."""

from __future__ import annotations

import io
import itertools
import json
import os
from pathlib import Path

import pytest

from sabueso.diagnoses import Blind, Diagnosis
from sabueso.findings import Finding
from sabueso.places import Place
from sabueso.show import forms, phrases
from sabueso.show.json import dumps
from sabueso.show.text import CRASH_LINES, Paper, render

SNAPSHOTS = Path(__file__).parent / "snapshots"
SCRIPT = """\
import torch
model = torch.nn.Linear(4, 3)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in batches:
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
"""


def snapshot(name: str, text: str) -> None:
    path = SNAPSHOTS / name
    if os.environ.get("SABUESO_SNAPSHOTS") == "write":
        path.write_text(text)
    assert text == path.read_text(), f"{name} changed; review and write it with SABUESO_SNAPSHOTS=write"


@pytest.fixture
def run(tmp_path: Path) -> dict:
    (tmp_path / "train.py").write_text(SCRIPT)
    return {
        "id": "20260101-120000-train", "command": ["/usr/bin/python3", "train.py", "--epochs", "3"], "cwd": str(tmp_path),
        "outcome": "succeeded", "exit_status": 0, "signal": None, "seconds": 12.34, "stages": ["ingest", "train", "evaluate"],
        "overhead": 0.0123,
    }  # fmt: skip


@pytest.fixture
def broken(run: dict) -> Diagnosis:
    cause = Finding(
        says="Gradients are not cleared between optimizer steps, so that each step moves along the sum of all gradients so far.",
        place=Place(stage="train", step=2, file="train.py", line=7),
        evidence=[
            ("steps without zero_grad before them", 299, 0),
            ("norm of the summed gradient over that of the batch's own, step 300", 41.71234, "about 1"),
            ("loss at the last step", float("nan"), "below 1.099 (label entropy)"),
        ],
        remedy="clear them in each step:\n    opt.zero_grad()\n    loss.backward()\n    opt.step()",
        severity="error", confidence=0.95, verified="fact", check="missing-zero-grad", stage="train", id="F2", explains=["F3", "F4"],
    )  # fmt: skip
    effects = [
        Finding("The gradient grew.", Place("train", 40, module="layers.3.attn", file="train.py", line=6), [("norm", 1e9, 1.0)], "", "error",
                0.9, None, (), "exploding-gradient", "train", "F3", "F2"),
        Finding("The loss is not finite.", Place("train", 61, file="train.py", line=5), [("loss", float("inf"), "finite")], "", "error",
                0.9, None, (), "nonfinite-loss", "train", "F4", "F2"),
    ]  # fmt: skip
    rival = Finding(
        says="Feature `income` is 40 000 times as large as the others.", place=Place("preprocess", column=["income", "assets"], row=[3, 9]),
        evidence=[("largest over median scale", 40213.7, "below 100"), ("columns", ["income", "assets"], None)],
        remedy="put StandardScaler() before the model", severity="warning", confidence=0.6, check="unscaled-input", stage="preprocess", id="F1",
        verified={"how": "40 steps on scaled inputs", "before": 1.07, "after": 0.31},
    )  # fmt: skip
    note = Finding("No seed is set.", Place(file="train.py", line=1), [], "", "note", 0.9, "fact", (), "unseeded", "reproducibility", "F5")
    return Diagnosis(
        run, [rival, cause, *effects, note], [cause, rival],
        [Blind("dead-units", ["activation_stats"], "run without torch.compile"), Blind("wrong-mode", ["mode"], "run without torch.compile")],
        ["overfitting"] * 41, [{"adapter": "pandas", "error": "KeyError: 'x'"}],
    )  # fmt: skip


def healthy(run: dict) -> Diagnosis:
    return Diagnosis(run, clean=["overfitting"] * 41)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("colour", [False, True])
def test_terminal(broken: Diagnosis, width: int, colour: bool) -> None:
    snapshot(f"report-{width}{'-colour' if colour else ''}.txt", render(broken, Paper(width, colour)))


@pytest.mark.parametrize("form", ["markdown", "github", "sarif"])
def test_forms(broken: Diagnosis, form: str) -> None:
    out = io.StringIO()
    forms.tell(broken, form, out)
    snapshot(f"report.{form}", out.getvalue().replace(broken.run["cwd"], "CWD"))


def test_colour_changes_no_letter(broken: Diagnosis) -> None:
    import re

    assert re.sub(r"\x1b\[[0-9;]*m", "", render(broken, Paper(80, True))) == render(broken, Paper(80, False))


@pytest.mark.parametrize("width", [50, 60, 80, 120])
def test_no_line_is_wider_than_the_paper(broken: Diagnosis, width: int) -> None:
    assert all(len(line) <= width for line in render(broken, Paper(width)).splitlines())


@pytest.mark.parametrize("width", [50, 80, 120])
def test_no_table_is_wider_than_the_paper(run: dict, width: int) -> None:
    for sizes in itertools.product((1, 5, 20, 61, 200), repeat=3):
        words = [" ".join("x" * 7 for _ in range(1 + n // 8))[:n] for n in sizes]
        finding = Finding("s", Place("train"), [tuple(words)], "", "error", 0.9, None, (), "x", "train", "F1")
        assert all(len(line) <= width for line in render(Diagnosis(run, [finding], [finding]), Paper(width)).splitlines()), sizes


def test_crash_report_is_short(broken: Diagnosis) -> None:
    broken.run.update(outcome="failed", exit_status=1, crash={"type": "RuntimeError", "message": "loss is nan", "file": "train.py", "line": 9})
    for width in (80, 120):
        lines = render(broken, Paper(width)).splitlines()
        assert len(lines) <= CRASH_LINES
        assert lines[-1].split() == ["next", "sabueso", "explain", "missing-zero-grad"]
    snapshot("report-crash.txt", render(broken, Paper(80)))


def test_healthy_run_is_two_lines(run: dict) -> None:
    text = render(healthy(run), Paper(80))
    assert text.count("\n") == 2
    snapshot("healthy.txt", text)


def test_everything(broken: Diagnosis) -> None:
    snapshot("everything.txt", render(broken, Paper(80), everything=True))


def test_failed_run_without_a_culprit(run: dict) -> None:
    run.update(outcome="failed", exit_status=1, crash={"type": "KeyError", "message": "'x'", "file": "train.py", "line": 3})
    snapshot("failed.txt", render(healthy(run), Paper(80)))


def test_killed_run(run: dict) -> None:
    run.update(outcome="killed", exit_status=137, signal=9)
    assert "SIGKILL" in render(healthy(run), Paper(80))


def test_trail_never_calls_what_was_not_watched_fine(run: dict) -> None:
    states = dict(phrases.trail(healthy(run)))
    assert states == {
        "ingest": "ok",
        "preprocess": "not watched",
        "train": "ok",
        "evaluate": "ok",
        "deploy": "not watched",
        "monitor": "not watched",
    }
    run["outcome"] = "failed"
    assert dict(phrases.trail(healthy(run)))["deploy"] == "not reached"


def test_ascii_paper(broken: Diagnosis) -> None:
    assert render(broken, Paper(80, unicode=False)).isascii()


def test_json_round_trip_and_strict_json(broken: Diagnosis) -> None:
    text = dumps(broken)
    data = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert data["format"] == 1
    again = Diagnosis.of(data)
    assert [c.check for c in again.culprits] == ["missing-zero-grad", "unscaled-input"]
    assert json.loads(dumps(again)) == data


def test_github_escapes(run: dict) -> None:
    finding = Finding("50 % of\nrows: a,b", Place("train", file="a,b:c.py", line=3), [("x", 1, 2)], "do", "error", 0.9, None, (), "x-y", "train", "F1")
    out = io.StringIO()
    forms.tell(Diagnosis(run, [finding], [finding]), "github", out)
    line = out.getvalue()
    assert line.count("\n") == 1 and line.startswith("::error file=a%2Cb%3Ac.py,line=3,title=sabueso%3A x-y::50 %25 of%0Arows: a,b%0A")


def test_sarif_holds_the_trail_as_a_code_flow(broken: Diagnosis) -> None:
    out = io.StringIO()
    forms.tell(broken, "sarif", out)
    log = json.loads(out.getvalue())
    result = log["runs"][0]["results"][0]
    assert log["version"] == "2.1.0" and result["ruleId"] == "missing-zero-grad"
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [s["location"]["message"]["text"].split(".")[0] for s in steps] == [
        "train: missing-zero-grad", "train: exploding-gradient", "train: nonfinite-loss"]  # fmt: skip


def test_stream_that_is_gone_is_no_error(broken: Diagnosis) -> None:
    out = io.StringIO()
    out.close()
    forms.tell(broken, "text", out)


def test_live_line_says_stage_step_loss_and_what_is_found(tmp_path: Path) -> None:
    from sabueso.capture.recorder import Recorder
    from sabueso.show.live import line
    from sabueso.store.writer import Writer, create_folder

    folder = create_folder(tmp_path / "runs", "x", {})
    recorder, writer = Recorder(folder), Writer(folder)
    assert line(writer, 61.0) == "sabueso  1:01"
    recorder.fact("stage_seen", {"stage": "train"})
    recorder.point("train_loss", 0.25, 12)
    recorder.point("train_loss", float("nan"), 13)
    writer.drain()
    assert line(writer, 3.9, ["missing-zero-grad"]) == "sabueso  0:03  train  step 13  loss NaN  found missing-zero-grad"


def test_live_line_is_silent_where_there_is_no_terminal() -> None:
    from sabueso.show.live import Live

    out = io.StringIO()
    live = Live(out)
    live.look(None)
    live.end()
    assert not live.on and out.getvalue() == ""
