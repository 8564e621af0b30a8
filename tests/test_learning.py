"""Learning curves, the harm gate, and the schedule of deep looks, on made-up numbers and a clock of our own."""

from __future__ import annotations

import numpy as np

from sabueso.capture.budget import Budget
from sabueso.capture.schedule import Schedule
from sabueso.events import Fact, Series
from sabueso.learning import Training, evaluations, harm, trainings
from sabueso.places import Place

LOSS = Place(stage="train", file="train.py", line=9)


def series(name: str, values: list[float], place: Place = LOSS, steps: list[int] | None = None) -> Series:
    return Series(name, place, np.array(steps or range(len(values)), dtype=np.int64), np.array(values, dtype=float))


def targets(baseline: float | None, ratio: tuple[float, float] = (1.0, 1.0)) -> Fact:
    value = {"function": "mse_loss", "baseline": baseline, "ratio": list(ratio), "loss_line": ["train.py", 9]}
    return Fact("targets", value, Place(file="train.py", line=8))


def trained(values: list[float], baseline: float | None = None) -> Training:
    return trainings([series("train_loss", values)], [targets(baseline)])[0]


def test_harm_is_what_is_not_finite_no_better_or_worse() -> None:
    noise = np.random.default_rng(0).normal(0, 0.02, 100)
    falls = np.linspace(2, 0.2, 100) + noise
    assert harm(trained(list(falls), 1.0)) is None
    assert harm(trained([1.0] * 50 + [float("nan")] * 50, 1.0)).kind == "non-finite"  # type: ignore[union-attr]
    assert harm(trained([1.0] * 50 + [float("nan")] * 50, 1.0)).step == 50  # type: ignore[union-attr]
    assert harm(trained(list(1.0 + noise), 1.0)).kind == "no-better"  # type: ignore[union-attr]
    assert harm(trained(list(np.linspace(1, 3, 100)))).kind == "worse"  # type: ignore[union-attr]
    assert harm(trained(list(1.0 + noise))) is None, "flat, but nothing is known of what could be reached"


def test_a_loss_divided_for_accumulation_has_its_baseline_divided() -> None:
    training = trainings([series("train_loss", [0.3] * 20)], [targets(1.0, (0.25, 0.25))])[0]
    assert training.baseline == 0.25
    assert trainings([series("train_loss", [0.3] * 20)], [targets(1.0, (0.2, 0.9))])[0].baseline is None, "a part of a varying sum"


def test_folds_are_trainings_of_their_own() -> None:
    starts = [Fact("initial_weights", {"optimizer": n}, Place(step=20 * n)) for n in range(3)]
    found = trainings([series("train_loss", [1.0] * 60)], [], starts)
    assert [(len(t.losses), t.optimizer) for t in found] == [(20, 0), (20, 1), (20, 2)]
    together = [Fact("initial_weights", {"optimizer": n}, Place(step=n)) for n in range(2)]
    assert len(trainings([series("train_loss", [1.0] * 60)], [], together)) == 1, "two optimizers that begin together take turns"


def test_evaluations_keep_passes_over_the_same_rows() -> None:
    site = Place(stage="evaluate", estimator="evaluation 0", file="train.py", line=20)
    steps = [10, 20, 30, 40]
    values = {"loss": [1.0, 0.5, 0.6, 0.7], "rows": [100, 100, 100, 40], "trained": [0, 0, 0, 0]}
    found = evaluations([series("evaluation_error", v, site.but(tensor=k), steps) for k, v in values.items()], trained([1.0] * 50))
    assert [e.steps.tolist() for e in found] == [[10, 20, 30]]


def test_schedule_is_dense_early_and_then_pays_its_way() -> None:
    now = [0.0]
    schedule = Schedule(Budget(0.01, clock=lambda: now[0]))
    looked = []
    for step in range(5000):
        if schedule.due(step):
            looked.append(step)
            schedule.took(step, 0.005)
            now[0] += 0.005
        now[0] += 0.01
    assert looked[:7] == [0, 1, 3, 7, 15, 31, 63]
    late = [s for s in looked if s > 63]
    assert 0.7 < 0.005 * len(late) / (0.01 * now[0]) < 1.1, "a hundredth of the time goes into looks"


def test_one_disturbed_look_does_not_starve_the_rest() -> None:
    now = [0.0]
    budget = Budget(0.01, clock=lambda: now[0])
    for cost in (0.001, 0.001, 0.5, 0.001, 0.001):
        budget.spent(cost)
    assert budget.expected == 0.001


def test_a_pause_earns_no_burst() -> None:
    now = [0.0]
    budget = Budget(0.01, clock=lambda: now[0])
    budget.spent(0.001)
    now[0] += 3600
    assert budget.allows()
    looks = 0
    while budget.allows() and looks < 100:
        budget.spent(0.001)
        looks += 1
    assert looks <= 9
