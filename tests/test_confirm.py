"""`sabueso confirm`: each intervention does what it says, the verdict follows from two runs, and is written into the run."""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.base
import torch
from programs import sabueso
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.nn import functional as F

from sabueso.checks import catalogue
from sabueso.events import Fact, Series
from sabueso.findings import Finding
from sabueso.interventions import INTERVENTIONS, factor
from sabueso.places import Place
from sabueso.replay.change import Change
from sabueso.replay.confirm import judged, same_twice
from sabueso.runs import Run

# A child of a process that has computed dies at times of the threads that it lost; this server has only imported.
BARE = multiprocessing.get_context("forkserver")
BARE.set_forkserver_preload(["torch", "pandas", "sklearn.linear_model", "sklearn.neighbors", "sabueso.replay.confirm"])

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


@pytest.mark.parametrize(
    ("name", "before", "after", "still", "word"),
    [
        ("learning rate / 10", [5.0, 1.0, 1.0], [5.0, 0.9, 0.1], True, "went away"),  # what was captured before looks as it did: the gain decides
        ("learning rate / 10", [5.0, 1.0, 1.0], [5.0, 0.9, 0.8], True, "stayed"),
        ("learning rate / 10", [5.0, 1.0, 1.0], [5.0, 0.9, 1.0], False, "no difference"),
        ("learning rate / 10", [5.0, 1.0, 1.0], [5.0, 0.9, 0.7], False, "went away"),
        ("learning rate * 10", [5.0, 1.0, 1.0], [5.0, 0.9, 0.7], False, "no difference"),  # so it would do to a healthy training
        ("layers initialised anew", [5.0, 1.0, 1.0], [5.0, 0.9, 0.6], False, "no difference"),  # other random numbers do as much
        ("weight decay 0", [5.0, 4.0, 4.0], [5.0, 0.9, 0.1], True, "went away"),
        ("weight decay 0", [5.0, 1.0, 0.5], [5.0, 0.9, 0.1], False, "no difference"),  # it learnt well as it was
        ("inputs standardised", [5.0, np.nan, np.nan], [5.0, 0.9, 0.8], True, "went away"),
        ("targets standardised", [900.0, 880.0, 870.0], [1.0, 0.4, 0.2], True, "went away"),  # losses of two scales, by where they began
        ("targets standardised", [900.0, 500.0, 100.0], [1.0, 0.9, 0.8], True, "no difference"),
        ("targets within 0 and 1", [3.0, -40.0, -9e9], [0.7, 0.4, 0.2], True, "went away"),  # a loss without a bound
        ("seeds varied", [1.0, 1.0], [1.0, 1.0], False, "went away"),
        ("seeds varied", [1.0, 1.0], [1.0, 1.0], True, "no difference"),
        ("column left out", [1.0], [1.0], False, "could not be tried"),  # no score was told
    ],
)
def test_what_proves_an_intervention(name: str, before: list[float], after: list[float], still: bool, word: str) -> None:
    finding = Finding("", check="some-check", severity="error")
    assert judged(finding, INTERVENTIONS[name], run(before), run(after), [finding] if still else [], 3).word == word


@pytest.mark.parametrize(("metric", "after", "word"), [("roc_auc_score", 0.7, "went away"), ("roc_auc_score", 0.995, "no difference"),
                                                       ("roc_auc_score", 1.0, "no difference"), ("mean_absolute_error", 2.0, "went away")])  # fmt: skip
def test_a_leak_is_proven_by_the_score_that_is_lost(metric: str, after: float, word: str) -> None:
    was, now = (Run(facts=[Fact("metric", {"metric": metric, "values": [v]})]) for v in (0.99, after))
    finding = Finding("", check="split-overlap", severity="error")
    assert judged(finding, INTERVENTIONS["judged rows left out of the fit"], was, now, [finding], 1).word == word


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


def master(change: Change) -> None:
    net, optimizer = trained(change)
    net.bfloat16()
    with torch.no_grad():
        net[0].weight.fill_(1.0)
    for _ in range(100):  # each step is a hundredth of the spacing below 1
        net[0].weight.grad = torch.full_like(net[0].weight, 4e-4)
        optimizer.step()
    assert net[0].weight.dtype == torch.bfloat16 and net[0].weight.grad.dtype == torch.bfloat16
    assert float(net[0].weight.max()) < 1.0


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
    net = nn.Linear(3, 1)
    net.weight.data[0, 1] = float("inf")
    assert net(torch.tensor([[1.0, float("nan"), 2.0]])).isfinite().all()
    x, y = noise()
    y[3], x[5, 1] = -np.inf, np.inf
    assert np.isfinite(LinearRegression().fit(pd.DataFrame(x), y).coef_).all()


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
    alone = nn.Parameter(torch.full((30, 20), 50.0))
    optimizer = torch.optim.SGD([alone], lr=1.0)
    (torch.ones(2, 30) @ alone).square().sum().backward()
    optimizer.step()
    assert float(alone.detach().abs().max()) < 2 and len(alone.unique()) > 1


def bend(change: Change) -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 6), nn.Linear(6, 1), nn.Flatten())
    x = torch.randn(5, 3)
    first = F.linear(x, net[0].weight, net[0].bias).relu()
    assert torch.allclose(net(x), F.linear(F.linear(first, net[1].weight, net[1].bias).relu(), net[2].weight, net[2].bias))


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
    Path("t.csv").write_text("a\n" + "\n".join(map(str, range(30))))
    table = pd.read_csv("t.csv")
    assert sorted(table["a"]) == list(range(30)) != table["a"].tolist() and table.index.tolist() == list(range(30))
    assert sorted(next(KFold(3).split(rows))[1].tolist()) != list(range(22))
    split = sys.modules["sklearn.model_selection._split"]
    assert split.train_test_split(list(range(9)), shuffle=False)[0] != list(range(6))


def workers(change: Change) -> None:
    assert torch.utils.data.DataLoader(torch.arange(8), num_workers=2, persistent_workers=True).num_workers == 0


def seeds(change: Change) -> None:
    assert torch.initial_seed() == 0 and np.random.get_state()[1][0] == 0


def keep(change: Change) -> None:
    net, optimizer = trained(change)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 1e-3)
    net.eval()
    for p in net.parameters():
        p.grad = torch.ones_like(p)
    moved = []
    for _ in range(3):
        before = net[0].bias.detach().clone()
        optimizer.step()
        schedule.step()
        moved.append(float((before - net[0].bias).abs().max()))
    assert np.allclose(moved, 0.1) and optimizer.param_groups[0]["lr"] < 1e-6


def small_targets(change: Change) -> None:
    y = 1e6 + 1e5 * torch.randn(64)
    assert float(nn.MSELoss()(torch.zeros(64), y)) < 2 and float(F.huber_loss(torch.zeros(64), y)) < 2


def unit_targets(change: Change) -> None:
    y = torch.tensor([0.0, 4.0, 16.0])
    assert torch.allclose(F.binary_cross_entropy(torch.full((3,), 0.5), y), F.binary_cross_entropy(torch.full((3,), 0.5), y / 16))
    assert float(nn.BCEWithLogitsLoss()(torch.full((3,), 50.0), y)) > 0


def seeds_apart(change: Change) -> None:
    drawn = [np.random.default_rng(7).random(), np.random.default_rng(7).random()]
    drawn += [float(torch.rand(1, generator=torch.Generator().manual_seed(7))) for _ in range(2)]
    drawn += [float(torch.rand(1)) for _ in range(2) if torch.manual_seed(7)]
    drawn += [np.random.RandomState(7).rand(), np.random.RandomState(7).rand(), random.Random(7).random(), random.Random(7).random()]
    assert len(set(drawn)) == 10 and isinstance(np.random.mtrand._rand, np.random.RandomState) and isinstance(torch.Generator(), torch.Generator)


def epochs(change: Change) -> None:
    data = torch.arange(20)
    sampler = torch.utils.data.distributed.DistributedSampler(data, num_replicas=2, rank=0)
    loader = torch.utils.data.DataLoader(data, sampler=sampler, batch_size=4)
    assert torch.cat(list(loader)).tolist() != torch.cat(list(loader)).tolist()


def noise(rows: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(rows, 4)), rng.normal(size=rows)


def judged_apart(change: Change) -> None:
    x, y = noise()
    model = KNeighborsRegressor(1).fit(pd.DataFrame(x, columns=list("abcd")), y)
    assert model.score(pd.DataFrame(x, columns=list("abcd")), y) < 0  # all of them
    assert KNeighborsRegressor(1).fit(x, y).score(x[:30], y[:30]) < 0
    assert cross_val_score(KNeighborsRegressor(1), np.repeat(x, 3, axis=0), np.repeat(y, 3), cv=KFold(5, shuffle=True)).mean() < 0


def refitted(change: Change) -> None:
    x, y = noise()
    x[150:] += 1e3
    for scaled in (StandardScaler().fit(x).transform(x), StandardScaler().fit_transform(x)):
        train, test = scaled[:150], scaled[150:]
        model = LinearRegression().fit(train, y[:150])
        want = LinearRegression().fit(StandardScaler().fit(x[:150]).transform(x[:150]), y[:150]).predict(StandardScaler().fit(x[:150]).transform(x[150:]))
        assert np.allclose(model.predict(test), want)
    honest = StandardScaler().fit(x[:150])
    count = change.count
    LinearRegression().fit(honest.transform(x[:150]), y[:150]).predict(honest.transform(x[150:]))
    assert change.count == count, "it had seen the training rows alone"


def resampled(change: Change) -> None:
    from imblearn.over_sampling import RandomOverSampler

    x, y = noise()
    rare = np.arange(200) < 20
    more, labels = RandomOverSampler(random_state=0).fit_resample(x, rare)
    assert len(more) == 200 and labels.sum() == 20
    a, b, c, _ = train_test_split(more, labels, random_state=0)
    model = KNeighborsRegressor(1).fit(a, c.astype(float))
    assert model.n_samples_fit_ > len(a)
    model.predict(b)


def encoded(change: Change) -> None:
    x, y = noise(400)
    names = pd.Series(np.arange(400) % 150)
    table = pd.DataFrame({"a": x[:, 0], "rate": pd.Series(y).groupby(names).transform("mean")})
    model = LinearRegression().fit(table[:300], y[:300])
    assert model.score(table[300:], y[300:]) < 0.05 < LinearRegression().fit(table[["rate"]].to_numpy(), y).score(table[["rate"]].to_numpy(), y)


def rows(change: Change) -> None:
    Path("t.csv").write_text("a,b\n1,2\n3,4\n5,6\n")
    assert pd.read_csv("t.csv")["a"].tolist() == [1, 5]


def column(change: Change) -> None:
    Path("t.csv").write_text("a,b\n1,2\n3,4\n")
    assert pd.read_csv("t.csv")["b"].tolist() == [2, 2]
    table = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [0.0, 2.0, 4.0, 7.0]})
    assert np.ptp(LinearRegression().fit(table[["b"]], table["a"]).predict(table[["b"]])) == 0


DOES: dict[str, Callable[[Change], None]] = {
    **{n: rate for n in INTERVENTIONS if n.startswith("learning rate")}, "gradients clipped": clip, "gradients cleared": clear, "step inserted": step,
    "master weights": master,
    "weight decay 0": decay, "all parameters trained": everything, "inputs standardised": standard, "inputs made finite": finite, "training mode": train_mode,
    "evaluation mode": eval_mode, "layers initialised anew": anew, "activation inserted": bend, "loss given what it takes": right, "argument kept off the edge": off, "target reshaped": reshape,
    "such labels left out": labels, "softmax over the classes": classes, "rows shuffled": shuffle, "workers 0": workers, "seeds set": seeds,
    "rows left out": rows, "column left out": column, "schedule left out": keep, "targets standardised": small_targets, "targets within 0 and 1": unit_targets,
    "seeds varied": seeds_apart, "sampler told the epoch": epochs, "judged rows left out of the fit": judged_apart,
    "transformers refitted on the training rows": refitted, "resampled within the training rows": resampled, "encoded within the training rows": encoded,
}  # fmt: skip
PLACES = {
    "activation inserted": {"module": "Net.1"},
    "rows left out": {"row": [1]},
    "column left out": {"column": "b"},
    "encoded within the training rows": {"column": "rate"},
}


def applied(name: str, folder: str) -> None:
    import os

    os.chdir(folder)
    change = Change(folder, {"name": name, "place": PLACES.get(name, {})})
    change.start()
    split = sys.modules["sklearn.model_selection._split"]
    for library, module in (("torch", torch), ("pandas", pd), ("numpy", np), ("sklearn.base", sklearn.base), (split.__name__, split)):
        change.libraries[library](module)
    DOES[name](change)
    assert change.count, "it took no effect"


@pytest.mark.parametrize("name", sorted(INTERVENTIONS))
def test_intervention(name: str, tmp_path: Path) -> None:
    child = BARE.Process(target=applied, args=(name, str(tmp_path)))
    child.start()
    child.join(60)
    assert child.exitcode == 0, name
    assert json.loads((tmp_path / "applied.json").read_text())["name"] == name


# ---- Keras on torch


def dense(keras: Any, **compiled: Any) -> Any:
    net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="relu"), keras.layers.Dense(3)])
    net.compile(**{"optimizer": keras.optimizers.SGD(1.0), "loss": "mse", **compiled})
    return net


def moved(net: Any, x: np.ndarray, y: np.ndarray, **more: Any) -> float:
    """How far one update moves the weights."""
    before = [w.copy() for w in net.get_weights()]
    net.fit(x, y, epochs=1, batch_size=len(x), verbose=0, **more)
    return float(sum(np.square(a - b).sum() for a, b in zip(net.get_weights(), before)) ** 0.5)


def keras_rate(keras: Any, x: np.ndarray, y: np.ndarray) -> None:
    net = dense(keras)
    first = net.get_weights()[-1].copy()
    slope = (net.predict(x, verbose=0) - y).mean(0) * 2 / 3
    net.fit(x, y, epochs=1, batch_size=len(x), verbose=0)
    assert np.allclose(first - net.get_weights()[-1], 0.1 * slope, rtol=1e-3) and float(net.optimizer.learning_rate) == 1.0


def keras_clip(keras: Any, x: np.ndarray, y: np.ndarray) -> None:
    assert abs(moved(dense(keras), x, 1e6 + y) - 1.0) < 1e-3


def keras_decay(keras: Any, x: np.ndarray, y: np.ndarray) -> None:
    assert moved(dense(keras, optimizer=keras.optimizers.SGD(1e-12, weight_decay=1e9)), x, y) < 1e-6


def keras_loss(keras: Any, x: np.ndarray, y: np.ndarray) -> None:
    labels, net = np.array([0, 1, 2, 1] * 8), dense(keras, loss="sparse_categorical_crossentropy")
    want = float(F.cross_entropy(torch.tensor(net.predict(x, verbose=0)), torch.tensor(labels)))
    assert abs(net.evaluate(x, labels, verbose=0) - want) < 1e-4


def keras_frozen(keras: Any, x: np.ndarray, y: np.ndarray) -> None:
    net = dense(keras)
    net.layers[0].trainable = False
    before = net.get_weights()[0].copy()
    net.fit(x, y, verbose=0)
    assert not np.array_equal(before, net.get_weights()[0])


def keras_anew(keras: Any, x: np.ndarray, y: np.ndarray) -> None:
    net = dense(keras, optimizer=keras.optimizers.SGD(1e-12))
    net.set_weights([np.full_like(w, 7.0) for w in net.get_weights()])
    net.fit(x, y, verbose=0)
    assert len(np.unique(net.get_weights()[0])) > 1 and abs(net.get_weights()[0]).max() < 2


def keras_shuffled(keras: Any, x: np.ndarray, y: np.ndarray) -> None:
    ordered = np.repeat([0.0, 1.0], [24, 8])[:, None]
    held = dense(keras, optimizer=keras.optimizers.SGD(0.0)).fit(ordered @ np.ones((1, 3)), np.tile(ordered, 3), validation_split=0.25, verbose=0)
    assert len(held.history["val_loss"]) == 1


def keras_standard(keras: Any, x: np.ndarray, y: np.ndarray) -> None:
    big, net = 1e6 + 1e5 * x, dense(keras, optimizer=keras.optimizers.SGD(0.0))
    net.fit(big, y, verbose=0)
    assert abs(net.predict(big, verbose=0)).max() < 100


KERAS: dict[str, Callable[[Any, np.ndarray, np.ndarray], None]] = {
    "learning rate / 10": keras_rate, "gradients clipped": keras_clip, "weight decay 0": keras_decay, "loss given what it takes": keras_loss,
    "all parameters trained": keras_frozen, "layers initialised anew": keras_anew, "rows shuffled": keras_shuffled, "inputs standardised": keras_standard,
}  # fmt: skip


def in_keras(name: str, folder: str) -> None:
    import os

    os.environ["KERAS_BACKEND"] = "torch"
    import keras

    change = Change(folder, {"name": name})
    change.libraries["keras"](keras)
    x = np.random.default_rng(0).normal(size=(32, 3)).astype("float32")
    KERAS[name](keras, x, x[:, ::-1].copy())
    assert change.count, "it took no effect"


@pytest.mark.skipif(importlib.util.find_spec("keras") is None, reason="Keras is not installed")
@pytest.mark.parametrize("name", sorted(KERAS))
def test_intervention_in_keras(name: str, tmp_path: Path) -> None:
    child = BARE.Process(target=in_keras, args=(name, str(tmp_path)))
    child.start()
    child.join(120)
    assert child.exitcode == 0, name


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
