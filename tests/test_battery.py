"""`sabueso.examine`: faults named, healthy models left alone, and nothing of what was given changed."""

from __future__ import annotations

import inspect
import random
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.nn import functional as F

import sabueso
from sabueso.errors import UsageError


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


def table(rows: int = 32) -> tuple[Any, Any]:
    x = torch.randn(rows, 6)
    return x, (x @ torch.randn(6, 3)).argmax(1)


def net(last: nn.Module | None = None) -> nn.Sequential:
    return nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.BatchNorm1d(24), nn.Dropout(0.1), nn.Linear(24, 3), *([last] if last else []))


class Cut(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(6, 24), nn.Linear(24, 3)

    def forward(self, x: Any) -> Any:
        h = F.relu(self.body(x))
        return self.head(h.detach())  # cut here


class Mixed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = net()

    def forward(self, x: Any) -> Any:
        centred = x - x.mean(0)  # mixed here
        return self.net(centred)


def line_of(cls: type, mark: str) -> int:
    lines, first = inspect.getsourcelines(cls)
    return first + next(i for i, text in enumerate(lines) if mark in text)


def test_a_healthy_model_passes() -> None:
    model = net()
    found = sabueso.examine(model, F.cross_entropy, table(), optimizer=torch.optim.Adam(model.parameters()))
    assert found and not found.findings, str(found)
    assert sum(a.passed is True for a in found.answers) >= 12, str(found)
    assert not [a for a in found.answers if "could not be asked" in a.says]


@pytest.mark.parametrize(
    ("model", "check"),
    [
        (lambda: net(nn.Softmax(dim=1)), "loss-activation-mismatch"),
        (lambda: net(nn.Softmax(dim=0)), "wrong-softmax-dim"),
        (Cut, "graph-broken"),
        (Mixed, "batch-mixing"),
    ],
)
def test_a_fault_is_named(model: Any, check: str) -> None:
    found = sabueso.examine(model(), F.cross_entropy, table())
    assert not found and found.culprits[0].check == check, str(found)
    with pytest.raises(AssertionError, match=check):
        found.raise_for_culprit()


def test_the_guilty_line_is_named() -> None:
    cut, mixed = (sabueso.examine(m, F.cross_entropy, table()).culprits[0].place for m in (Cut(), Mixed()))
    assert cut.line == line_of(Cut, "cut here") and mixed.line == line_of(Mixed, "mixed here")


def test_the_optimizer_is_judged() -> None:
    for rate, check in ((1e-9, "learning-rate-too-low"), (1e4, "learning-rate-too-high")):
        model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
        found = sabueso.examine(model, F.cross_entropy, table(), optimizer=torch.optim.SGD(model.parameters(), lr=rate))
        assert found.culprits[0].check == check and isinstance(found.culprits[0].verified, dict)


def test_nothing_that_was_given_is_changed() -> None:
    """Model, optimizer, gradients, modes, batch and random streams are equal to the bit afterwards."""
    model, (x, y) = net(), table()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    model[3].eval()

    def penalised(output: Any, target: Any) -> Any:  # closes over the model itself
        return F.cross_entropy(output, target) + 1e-4 * sum(p.square().sum() for p in model.parameters()) + 0 * model(x).sum()

    def state() -> list[Any]:
        held = [*model.state_dict().values(), *(p.grad for p in model.parameters()), x, y, torch.get_rng_state()]
        inner = [v for s in optimizer.state.values() for v in s.values()]
        return [t.clone() for t in [*held, *inner]] + [random.getstate(), np.random.get_state()[1].tolist(), [m.training for m in model.modules()]]

    before = state()
    grads = [p.grad for p in model.parameters()]
    sabueso.examine(model, penalised, (x, y), optimizer=optimizer)
    after = state()
    assert all(torch.equal(a, b) if torch.is_tensor(a) else a == b for a, b in zip(before, after))
    assert all(p.grad is g for p, g in zip(model.parameters(), grads))


def test_it_takes_little_time() -> None:
    model = net()
    assert sabueso.examine(model, F.cross_entropy, table(), optimizer=torch.optim.SGD(model.parameters(), lr=0.01)).seconds < 2.5


def test_estimators() -> None:
    x = np.random.default_rng(0).normal(size=(120, 4))
    y = (x[:, 0] + x[:, 1] > 0).astype(int)
    assert not sabueso.examine(LogisticRegression(), None, (x, y)).culprits
    skewed = sabueso.examine(KNeighborsClassifier(), None, (x * [1, 1, 1, 1e5], y))
    assert [c.check for c in skewed.culprits] == ["unscaled-input"]
    twice = np.concatenate([x, x[:40]]), np.concatenate([y, 1 - y[:40]])
    assert [c.check for c in sabueso.examine(LogisticRegression(), None, twice).culprits] == ["label-conflict"]

    class Anew(KNeighborsClassifier):
        def fit(self, X: Any, y: Any) -> Any:
            return super().fit(StandardScaler().fit_transform(X), y)

        def predict(self, X: Any) -> Any:
            return super().predict(StandardScaler().fit_transform(X))

    assert [c.check for c in sabueso.examine(Anew(), None, (x + 3, y)).culprits] == ["preprocess-skew"]


def test_within_a_watched_block_the_battery_is_no_part_of_the_run(tmp_path: Any) -> None:
    with sabueso.watch(quiet=True, dir=str(tmp_path)) as seen:
        assert sabueso.examine(Cut(), F.cross_entropy, table()).culprits
    assert seen.diagnosis is not None and not seen.diagnosis.culprits


def test_what_it_cannot_examine_is_said() -> None:
    with pytest.raises(UsageError, match="torch.nn.Module"):
        sabueso.examine(object(), None, None)
