"""Experiments at the end of a run: each trial changes what it says and nothing else, and the program's own objects and streams stay as they were."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from sabueso.adapters.torch.experiment import helps
from sabueso.adapters.torch.trials import TRIALS, Kept, Steps
from sabueso.events import Fact
from sabueso.interventions import INTERVENTIONS, LOWER_RATES, helped, on_copy, proof


def steps(function: str = "mse_loss", scale: float = 1.0, target: float = 1.0, clears: bool = True, width: int = 1) -> tuple[Steps, tuple[Any, Any]]:
    """Steps of a small net, and what they are a copy of."""
    torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.4), nn.Linear(8, width))
    held = (net, torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9))
    kept = []
    for _ in range(3):
        x = scale * torch.randn(16, 4)
        y = (x[:, 0] > 0).long() if function == "cross_entropy" else target * (100 + x[:, :1] / scale)
        kept.append(Kept((x,), torch.get_rng_state(), function, (16, width), y, {}, 0.0))
    return Steps(held, kept, clears), held


def test_the_names_are_those_of_second_runs() -> None:
    assert TRIALS.keys() <= INTERVENTIONS.keys()


@pytest.mark.parametrize(
    ("name", "case", "applies"),
    [
        ("gradients cleared", {"clears": False}, True),
        ("gradients cleared", {}, False),
        ("inputs standardised", {"scale": 500.0}, True),
        ("inputs standardised", {}, False),
        ("targets standardised", {"target": 40.0}, True),
        ("targets standardised", {"target": 0.01}, False),
        ("targets standardised", {"function": "cross_entropy", "width": 2}, False),
        ("loss given what it takes", {"function": "cross_entropy", "width": 2}, False),
        ("training mode", {}, False),
        ("layers initialised anew", {}, True),
    ],
)
def test_a_trial_says_whether_it_changes_anything(name: str, case: dict[str, Any], applies: bool) -> None:
    assert TRIALS[name](steps(**case)[0]) is applies


@pytest.mark.parametrize("name", sorted(TRIALS))
def test_what_is_copied_stays_as_it_was(name: str) -> None:
    tried, held = steps(scale=300.0, target=40.0)
    before, batches = copy.deepcopy(held[0].state_dict()), [k.args[0].clone() for k in tried.kept]
    TRIALS[name](tried)
    tried.taken(6, lambda step: False)
    assert all(torch.equal(v, before[k]) for k, v in held[0].state_dict().items()) and not held[1].state
    assert all(torch.equal(k.args[0], b) for k, b in zip(tried.kept, batches)) and all(p.grad is None for p in held[0].parameters())


def test_the_same_is_dropped_out_with_and_without() -> None:
    assert steps()[0].taken(5, lambda step: False) == steps()[0].taken(5, lambda step: False)


def test_a_softmax_is_undone_before_the_loss() -> None:
    tried, _ = steps("cross_entropy", width=2)
    plain = float(tried.loss(tried.kept[0]).detach())
    tried.model.append(nn.Softmax(1))
    assert TRIALS["loss given what it takes"](tried) and abs(float(tried.loss(tried.kept[0]).detach()) - plain) < 1e-4


def test_a_mode_is_set() -> None:
    tried, _ = steps()
    tried.model.eval()
    assert TRIALS["training mode"](tried) and tried.model.training


def test_rates_and_clipping() -> None:
    tried, _ = steps()
    TRIALS["learning rate / 100"](tried)
    assert tried.optimizer.param_groups[0]["lr"] == pytest.approx(0.0005)
    clipped, _ = steps(target=1e6)
    TRIALS["gradients clipped"](clipped)
    start = [p.detach().clone() for p in clipped.model.parameters()]
    clipped.taken(1, lambda step: False)
    assert sum(float((a - b).detach().square().sum()) for a, b in zip(start, clipped.model.parameters())) ** 0.5 < 0.06


@pytest.mark.parametrize(
    ("was", "now", "rescales", "good"),
    [
        ((1.0, 2.0), (1.0, 0.5), False, True),  # grew, falls
        ((1.0, 0.6), (1.0, 0.58), False, False),  # both fall, as far
        ((1.0, 0.6), (1.0, 0.2), False, True),
        ((1.0, float("nan")), (1.0, 0.9), False, True),
        ((1.0, 2.0), (1.0, float("nan")), False, False),
        ((900.0, 890.0), (1.0, 0.99), True, False),  # another scale, no further
        ((900.0, 890.0), (1.0, 0.4), True, True),
    ],
)
def test_what_helps(was: tuple[float, float], now: tuple[float, float], rescales: bool, good: bool) -> None:
    pair = [{"first": a, "loss": b} for a, b in (was, now)]
    assert helps(pair[0], pair[1], rescales) is good


def test_experiments_are_read_by_the_names_of_interventions() -> None:
    told = [Fact("experiment", {"change": c, "helps": c.endswith("100"), "how": c, "before": 2.0, "after": 1.0}) for c in (*LOWER_RATES, "learning rate * 100")]
    assert len(on_copy(told, *LOWER_RATES)) == 2 and proof(helped(told, *LOWER_RATES)) == {"how": "learning rate / 100", "before": 2.0, "after": 1.0}
    assert helped(None, *LOWER_RATES) is None and proof(None) is None


# ---- in a program that goes on

GOES_ON = """
import hashlib, json, random
import numpy as np, torch
from torch import nn
import sabueso
from sabueso.store.reader import open_run


def digest(net, opt):
    held = [*net.state_dict().values(), *[p.grad for p in net.parameters() if p.grad is not None]]
    held += [v for s in opt.state.values() for v in s.values() if torch.is_tensor(v)]
    told = [torch.get_rng_state().numpy().tobytes(), repr(np.random.get_state()), repr(random.getstate()), repr([m.training for m in net.modules()])]
    return hashlib.sha256(repr([hashlib.sha256(t.detach().numpy().tobytes()).hexdigest() for t in held] + told).encode()).hexdigest()


def train(kind):
    torch.manual_seed(0), np.random.seed(0), random.seed(0)
    x = torch.randn(120, 6) * (400 if kind == "inputs standardised" else 1)
    y = (x[:, 0] > 0).long()
    net = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12) if kind != "layers initialised anew" else nn.Tanh(), nn.Dropout(0.2), nn.Linear(12, 2))
    rate, loss_of = {"learning rate / 100": 50.0, "learning rate * 100": 1e-3}.get(kind, 0.05), nn.CrossEntropyLoss()
    if kind == "inputs standardised":
        net[1] = nn.Identity()
    if kind == "layers initialised anew":
        nn.init.normal_(net[3].weight, std=200.0)
    if kind == "loss given what it takes":
        net.append(nn.Softmax(1))
    if kind == "targets standardised":
        net[3], y, loss_of = nn.Linear(12, 1), 5e3 + 4e3 * x[:, :1], nn.MSELoss()
    net.train(kind != "training mode")
    opt = torch.optim.Adam(net.parameters(), lr=rate) if kind.startswith("learning") else torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    for ids in list(torch.arange(120).split(12)) * 2:
        loss = loss_of(net(x[ids]), y[ids])
        if kind != "gradients cleared":
            opt.zero_grad()
        loss.backward()
        opt.step()
    return net, opt


told = {}
for kind in %r:
    last = digest(*train(kind))
    with sabueso.watch(quiet=True) as watched:
        held = train(kind)
    tried = {e["change"]: e["helps"] for e in open_run(watched.folder).facts("experiment")}
    told[kind] = {"same": digest(*held) == last, "tried": tried}
print(json.dumps(told))
"""
KINDS = ("learning rate / 100", "learning rate * 100", "layers initialised anew", "inputs standardised", "targets standardised", "training mode",
         "loss given what it takes", "gradients cleared")  # fmt: skip


def test_a_program_goes_on_to_the_bit(tmp_path: Path) -> None:
    (tmp_path / "on.py").write_text(GOES_ON % (KINDS,))
    done = subprocess.run([sys.executable, "on.py"], cwd=tmp_path, check=True, capture_output=True, text=True)
    told = json.loads(done.stdout.splitlines()[-1])
    assert all(one["same"] for one in told.values()), told
    for kind in ("learning rate / 100", "layers initialised anew", "targets standardised"):
        assert told[kind]["tried"].get(kind), told[kind]
    assert "training mode" not in told["targets standardised"]["tried"] and "gradients cleared" not in told["targets standardised"]["tried"]
