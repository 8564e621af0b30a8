"""`sabueso diff`: runs laid side by side, the first divergence beyond rounding, what explains it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from programs import sabueso, watched

from sabueso.commands.probe import compared, told_apart
from sabueso.events import Fact, Series, Summary
from sabueso.noise import epsilon, first_difference
from sabueso.places import Place
from sabueso.replay.diff import compare
from sabueso.runs import Run

PROGRAM = """
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 4)
y = (x[:, 0] > 0).long()
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(12):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def losses(values: list[float], **parts: object) -> Run:
    return Run({"command": ["python", "t.py"]}, series=[Series("train_loss", Place(file="/t.py", line=3, **parts), np.arange(len(values)), np.array(values))])


def test_equal_runs_do_not_diverge() -> None:
    found = compare(losses([1.0, 0.5]), losses([1.0, 0.5 + 1e-7]))
    assert found.first is None and found.compared == 2 and not found.explanations


def test_the_first_value_beyond_rounding_is_named() -> None:
    found = compare(losses([1.0, 0.5, 0.4]), losses([1.0, 0.5001, 0.9]))
    assert found.first is not None and (found.first.place.step, found.first.place.line, found.differing) == (1, 3, 2)
    assert not compare(losses([1.0]), losses([float("nan")])).first.roundings < 1e9


def test_data_come_before_training_and_forms_are_told() -> None:
    def run(mean: float, dtype: str, loss: float) -> Run:
        column = Summary("column", {"mean": mean, "sd": 1.0, "dtype": dtype}, Place(file="/t.py", line=1, tensor="t.csv", column="a"))
        return Run(profiles=[column], series=[Series("train_loss", Place(), np.array([0]), np.array([loss]))])

    found = compare(run(0.5, "float64", 1.0), run(0.6, "float64", 2.0))
    assert found.first.place.column == "a" and found.first.what == "mean of column a of t.csv" and found.form is None
    assert compare(run(0.5, "float64", 1.0), run(0.5, "float32", 1.0)).form.what == "dtype of column a of t.csv"


def test_explanations_are_ranked() -> None:
    a, b = losses([1.0, 0.5]), losses([2.0, 0.5])
    for run, seed, threads in ((a, 1, "1"), (b, 2, "4")):
        run._facts["torch_seed"] = [Fact("torch_seed", {"seeded": True, "seed": seed})]
        run.meta["environment"] = {"OMP_NUM_THREADS": threads}
    found = compare(a, b, ({"t.py": "a = 1\nb = 2\nloss()"}, {"t.py": "a = 1\nb = 3\nloss()"}))
    assert [e.kind for e in found.explanations] == ["program", "seeds", "environment"]
    assert found.explanations[0].says == "t.py:2 was `b = 2`, is `b = 3`" and "1 before, 2 after" in found.explanations[1].says


@pytest.mark.parametrize(
    ("old", "new", "what", "line"),
    [
        ("manual_seed(0)", "manual_seed(1)", "0.weight before the first step", 8),
        ("nn.ReLU()", "nn.Tanh()", "output mean 2", 8),
        ("lr=0.1", "lr=0.11", "lr of SGD", 9),
        ("(x[:, 0] > 0)", "(x[:, 1] > 0)", "classes of the target", 11),
    ],
)
def test_a_planted_divergence(old: str, new: str, what: str, line: int, tmp_path: Path) -> None:
    folders = []
    for name, text in (("a", PROGRAM), ("b", PROGRAM.replace(old, new))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.py").write_text(text)
        watched(tmp_path / name / "t.py")
        folders.append(next((tmp_path / name / ".sabueso" / "runs").glob("*/run.json")).parent)
    found = compared(*folders)
    assert found.first is not None and what in found.first.what and found.first.place.line == line, told_apart(found, ["a", "b"])
    assert any(e.kind == "program" for e in found.explanations[:2]), found.explanations


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text("import sys\n")
    for argument in ("one", "two"):
        sabueso("run", "t.py", argument, cwd=tmp_path)
    names = sorted(p.name for p in (tmp_path / ".sabueso" / "runs").glob("2*"))
    done = sabueso("diff", *names, "--format", "json", cwd=tmp_path)
    assert done.returncode == 0 and json.loads(done.stdout)["first"] is None
    assert "t.py one before, t.py two after" in json.loads(done.stdout)["explanations"][0]["says"]
    assert sabueso("diff", names[0], "nothing", cwd=tmp_path).returncode == 2


def test_noise() -> None:
    assert epsilon("torch.bfloat16") > epsilon("float16") > epsilon("float32") > epsilon(np.float64(1).dtype) > epsilon("int64") == 0
    assert first_difference(np.array([1.0, 2.0]), np.array([1.0, 2.1])).at == (1,)
    assert first_difference(np.array(["a", None], dtype=object), np.array(["a", None], dtype=object)) is None
    assert first_difference(np.array([1, 2]), np.array([1, 3])).count == 1
