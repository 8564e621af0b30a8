"""`sabueso confirm`: each intervention does what it says, the verdict follows from two runs, and is written into the run."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from programs import sabueso
from torch import nn
from torch.nn import functional as F

from sabueso.checks import catalogue
from sabueso.events import Series
from sabueso.findings import Finding
from sabueso.interventions import INTERVENTIONS, factor
from sabueso.places import Place
from sabueso.replay.change import Change
from sabueso.replay.confirm import judged, same_twice
from sabueso.runs import Run

SUMS = """
import torch
torch.manual_seed(0)
x = torch.randn(96, 5)
y = x.sum(1, keepdim=True)
net = torch.nn.Linear(5, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.02)
for step in range(60):
    rows = torch.randint(0, 96, (16,))
    loss = torch.nn.functional.mse_loss(net(x[rows]), y[rows])
    loss.backward()
    opt.step()
open("made.txt", "w").write("here")
"""


def run(losses: list[float], outcome: str = "succeeded") -> Run:
    return Run({"outcome": outcome}, series=[Series("train_loss", Place(), np.arange(len(losses)), np.array(losses))])


@pytest.mark.parametrize(
    ("now", "still", "applied", "word"),
    [
        ([5.0, 1.0, 0.1], False, 3, "went away"),
        ([5.0, 6.0, 9.0], False, 3, "no difference"),  # the remedy itself: only a gain proves it
        ([5.0, 1.0, 0.1], True, 3, "went away"),
        ([5.0, 1.0, 0.1], False, 0, "could not be tried"),
        ([5.0, np.nan, np.nan], False, 3, "no difference"),
    ],
)
def test_verdicts(now: list[float], still: bool, applied: int, word: str) -> None:
    finding = Finding("", check="missing-zero-grad", severity="error")
    verdict = judged(finding, INTERVENTIONS["gradients cleared"], run([5.0, 6.0, 9.0]), run(now), [finding] if still else [], applied)
    assert verdict.word == word


def test_a_crash_that_is_gone_went_away() -> None:
    finding = Finding("", check="label-out-of-range", severity="error")
    verdict = judged(finding, INTERVENTIONS["such labels left out"], run([1.0], "failed"), run([1.0]), [], 1)
    assert (verdict.word, verdict.before, verdict.after) == ("went away", "failed", "succeeded")


def test_two_seeded_runs_are_compared_to_the_bit() -> None:
    assert same_twice(run([1.0, 2.0]), run([1.0, 2.0])) and not same_twice(run([1.0, 2.0]), run([1.0, 2.0 + 1e-15 * 3]))
    assert same_twice(Run(), Run()) is None


def test_every_intervention_is_named_by_a_check_and_can_be_put_in() -> None:
    named = {n for c in catalogue().values() for n in c.interventions}
    assert named == set(INTERVENTIONS)
    assert [factor(f"learning rate {t}") for t in ("/ 10", "* 100")] == [0.1, 100.0]


# ---- what each does, in a process of its own


def trained(change: Change, **more: Any) -> tuple[nn.Module, Any]:
    net = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 3))
    return net, torch.optim.SGD(net.parameters(), lr=0.1, **more)


def one_step(net: nn.Module, optimizer: Any, scale: float = 1.0) -> float:
    before = [p.detach().clone() for p in net.parameters()]
    (scale * net(torch.ones(4, 3)).square().sum()).backward()
    optimizer.step()
    return float(sum((p - b).square().sum() for p, b in zip(net.parameters(), before)) ** 0.5)


def rate(change: Change) -> None:
    net, optimizer = trained(change)
    net.eval()
    one_step(net, optimizer)
    assert optimizer.param_groups[0]["lr"] == 0.1


def clip(change: Change) -> None:
    net, optimizer = trained(change)
    assert one_step(net, optimizer, 1e4) < 0.11


def clear(change: Change) -> None:
    net, optimizer = trained(change)
    one_step(net, optimizer)
    assert all(p.grad is None for p in net.parameters())


def step(change: Change) -> None:
    net, optimizer = trained(change)
    before = net[0].weight.detach().clone()
    net(torch.ones(4, 3)).sum().backward()
    assert not torch.equal(before, net[0].weight)


def decay(change: Change) -> None:
    net, optimizer = trained(change, weight_decay=5.0)
    for p in net.parameters():
        p.grad = torch.zeros_like(p)
    before = net[0].weight.detach().clone()
    optimizer.step()
    assert torch.equal(before, net[0].weight) and optimizer.param_groups[0]["weight_decay"] == 5.0


def everything(change: Change) -> None:
    net = nn.Sequential(nn.Linear(3, 8), nn.Linear(8, 3))
    net[1].requires_grad_(False)
    optimizer = torch.optim.SGD(net[0].parameters(), lr=0.1)
    for _ in range(2):
        before = net[1].weight.detach().clone()
        one_step(net, optimizer)
    assert not torch.equal(before, net[1].weight)


def standard(change: Change) -> None:
    seen: list[Any] = []
    net = nn.Linear(3, 1)
    net.register_forward_hook(lambda m, a, o: seen.append(a[0]))
    net(1000 + 50 * torch.randn(64, 3))
    assert abs(float(seen[0].mean())) < 1e-3 and abs(float(seen[0].std()) - 1) < 0.05


def finite(change: Change) -> None:
    assert nn.Linear(3, 1)(torch.tensor([[1.0, float("nan"), 2.0]])).isfinite().all()


def train_mode(change: Change) -> None:
    net, _ = trained(change)
    net.eval()(torch.ones(4, 3))
    assert net.training


def eval_mode(change: Change) -> None:
    net, _ = trained(change)
    with torch.no_grad():
        assert torch.equal(net(torch.ones(4, 3)), net(torch.ones(4, 3)))
    assert net.training


def anew(change: Change) -> None:
    net = nn.Linear(3, 4)
    nn.init.constant_(net.weight, 1.0)
    net(torch.ones(1, 3))
    assert len(net.weight.unique()) > 1


def bend(change: Change) -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    x = torch.randn(5, 3)
    assert torch.allclose(net(x), F.linear(net[0](x).relu(), net[1].weight, net[1].bias))


def off(change: Change) -> None:
    zero = torch.zeros(2, requires_grad=True)
    (zero.log().sum() + torch.sqrt(zero).sum() + (1 / (zero + 0)).sum()).backward()
    assert zero.grad.isfinite().all()


def right(change: Change) -> None:
    logits, y = torch.randn(4, 3), torch.tensor([0, 1, 2, 0])
    want = F.cross_entropy(logits, y)
    assert torch.allclose(nn.CrossEntropyLoss()(logits.softmax(1), y), want) and torch.allclose(F.nll_loss(logits, y), want)


def reshape(change: Change) -> None:
    a, b = torch.randn(4, 1), torch.randn(4)
    want = (a.flatten() - b).square().mean()
    assert torch.allclose(nn.MSELoss()(a, b), want) and torch.allclose((a - b).square().mean(), want)


def labels(change: Change) -> None:
    assert F.cross_entropy(torch.randn(3, 2), torch.tensor([0, 7, 1])).isfinite()


def classes(change: Change) -> None:
    assert torch.allclose(nn.Softmax(dim=0)(torch.randn(4, 3)).sum(1), torch.ones(4))


def shuffle(change: Change) -> None:
    rows = torch.cat(list(torch.utils.data.DataLoader(torch.arange(64), batch_size=8)))
    assert sorted(rows.tolist()) == list(range(64)) != rows.tolist()


def workers(change: Change) -> None:
    assert torch.utils.data.DataLoader(torch.arange(8), num_workers=2, persistent_workers=True).num_workers == 0


def seeds(change: Change) -> None:
    assert torch.initial_seed() == 0 and np.random.get_state()[1][0] == 0


def rows(change: Change) -> None:
    Path("t.csv").write_text("a,b\n1,2\n3,4\n5,6\n")
    assert pd.read_csv("t.csv")["a"].tolist() == [1, 5]


def column(change: Change) -> None:
    Path("t.csv").write_text("a,b\n1,2\n3,4\n")
    assert pd.read_csv("t.csv")["b"].tolist() == [2, 2]


DOES: dict[str, Callable[[Change], None]] = {
    **{n: rate for n in INTERVENTIONS if n.startswith("learning rate")}, "gradients clipped": clip, "gradients cleared": clear, "step inserted": step,
    "weight decay 0": decay, "all parameters trained": everything, "inputs standardised": standard, "inputs made finite": finite, "training mode": train_mode,
    "evaluation mode": eval_mode, "layers initialised anew": anew, "activation inserted": bend, "loss given what it takes": right, "argument kept off the edge": off, "target reshaped": reshape,
    "such labels left out": labels, "softmax over the classes": classes, "loader shuffled": shuffle, "workers 0": workers, "seeds set": seeds,
    "rows left out": rows, "column left out": column,
}  # fmt: skip
PLACES = {"activation inserted": {"module": "Net.1"}, "rows left out": {"row": [1]}, "column left out": {"column": "b"}}


def applied(name: str, folder: str) -> None:
    import os

    os.chdir(folder)
    change = Change(folder, {"name": name, "place": PLACES.get(name, {})})
    change.start()
    for library, module in (("torch", torch), ("pandas", pd), ("numpy", np)):
        change.libraries[library](module)
    DOES[name](change)
    assert change.count, "it took no effect"


@pytest.mark.parametrize("name", sorted(INTERVENTIONS))
def test_intervention(name: str, tmp_path: Path) -> None:
    child = multiprocessing.get_context("fork").Process(target=applied, args=(name, str(tmp_path)))
    child.start()
    child.join(60)
    assert child.exitcode == 0, name
    assert json.loads((tmp_path / "applied.json").read_text())["name"] == name


def test_a_culprit_is_confirmed_in_a_copy(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(SUMS)
    sabueso("run", "sums.py", cwd=tmp_path)
    (tmp_path / "made.txt").unlink()
    refused = sabueso("confirm", cwd=tmp_path)
    assert refused.returncode == 2 and "--yes" in refused.stderr and "in a copy of" in refused.stderr
    done = sabueso("confirm", "--yes", "--steps", "40", "--format", "json", cwd=tmp_path)
    data = json.loads(done.stdout)
    assert data["finding"] == "missing-zero-grad" and data["verdict"] == "went away" and data["after"] < data["before"], done.stdout
    assert "up to step 39" in data["what"]
    assert not (tmp_path / "made.txt").exists()
    told = json.loads(sabueso("show", "--format", "json", cwd=tmp_path).stdout)["culprits"][0]
    assert told["verified"]["how"].startswith("run again with gradients cleared") and told["verified"]["verdict"] == "went away"


def test_what_cannot_be_tried_is_said(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text("print(1)")
    sabueso("run", "sums.py", cwd=tmp_path)
    done = sabueso("confirm", "--yes", cwd=tmp_path)
    assert done.returncode == 2 and "no culprit to try" in done.stderr
