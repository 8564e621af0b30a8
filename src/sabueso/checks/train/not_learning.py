"""not-learning."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...learning import Training, behind, by_heart, trainings
from ...parameters import missed, unwritten
from ...places import Place


@check(stage="train", severity="error", leads_to=("learning-rate-too-low", "underfitting", "learning-rate-too-high", "unseeded", "small-batch"))
def not_learning(
    rebuilt: list[Fact] | None = None, weights_loaded: list[Fact] | None = None, train_loss: list[Series] | None = None, targets: list[Fact] | None = None,
    learnable: list[Fact] | None = None, initial_weights: list[Fact] | None = None, activation: list[Fact] | None = None,
    weights_missed: list[Fact] | None = None, copy_unwritten: list[Fact] | None = None, few_rows: list[Fact] | None = None, *, least: int = 5, steps: int = 150,
) -> Iterator[Finding]:  # fmt: skip
    """What is learnt is thrown away: built anew each epoch, overwritten with weights never trained, never loaded, or never copied.

    What it means
    -------------
    Model and optimizer are made inside the loop that should go over them; the copy between a trained network and its target goes the wrong
    way round, or writes nothing; or a checkpoint is loaded without `strict`, and its names are not those of the model.
    Why it is bad
    -------------
    Every epoch is the first one.
    Evidence
    --------
    Built anew: at least five optimizers of one line over parameters of the same shapes, where the parameters before are gone and were not
    used between their last backward and the next build (no evaluation, no `no_grad`, no `state_dict`), and either start from bit-equal
    weights or each had one pass over a loader. Folds and searches use what they trained. Overwritten: a trained module loaded, at least
    twice, the state of a living model that never changed and that the loss depends on. Never loaded: load_state_dict took no name, or fewer
    than differ by a prefix alone, and nothing else put weights in. Where nothing else is known: after 150 steps the loss is still that of
    the best constant, though the nearest rows get rid of three tenths of it and more, or all rows are so few that any net with a hidden
    layer learns them by heart (a warning).
    Remedy
    ------
    Build before the loop; copy from the trained network to its target.
    Fault
    -----
        import torch
        from torch import nn

        x = torch.randn(64, 3, generator=torch.Generator().manual_seed(1))
        y = (x[:, 0] > 0).long()
        for epoch in range(12):
            torch.manual_seed(0)
            net = nn.Linear(3, 2)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)  # sabueso: not-learning
            for rows in torch.arange(64).split(16):
                opt.zero_grad()
                nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
                opt.step()
    Control
    -------
        import torch
        from torch import nn

        x = torch.randn(64, 3, generator=torch.Generator().manual_seed(1))
        y = (x[:, 0] > 0).long()
        torch.manual_seed(0)
        net = nn.Linear(3, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(12):
            for rows in torch.arange(64).split(16):
                opt.zero_grad()
                nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
                opt.step()
    References
    ----------
    Mnih et al. 2015 for the direction in which a target network is copied.
    """
    for fact in rebuilt or ():
        yield from built_anew(fact, least)
    by_module: dict[tuple[int, str, str], list[Fact]] = defaultdict(list)
    for fact in weights_loaded or ():
        donor = fact.get("donor")
        if donor and fact["trained"] and not donor["trained"] and donor["took_part"] and fact["changed"]:
            by_module[fact.process, fact["module"], donor["module"]].append(fact)
    for (_, module, donor_name), facts in by_module.items():
        same = all(f["donor"]["values"] == facts[0]["donor"]["values"] for f in facts)
        if len(facts) < 2 or not same:
            continue
        first = facts[0]
        yield Finding(
            says=f"`{module}` is trained and then overwritten with `{donor_name}`, which never changes: what was learnt is lost each time",
            place=Place(stage="train", file=first.place.file, line=first.place.line, step=first.place.step, module=module),
            evidence=[
                (f"times that the trained `{module}` was overwritten", max(f["times"] for f in facts), 0),
                (f"optimizer steps that `{donor_name}` has had", 0, "at least 1, or a copy of what was trained"),
                (f"optimizer steps of `{module}` before the first of them", first["trained"], "kept"),
            ],  # fmt: skip
            remedy=f"copy the other way: `{donor_name}.load_state_dict({module}.state_dict())`",
            confidence=0.93,
            verified="fact",
        )
    yield from (*map(missed, weights_missed or ()), *map(unwritten, copy_unwritten or ()))
    if activation:  # a linear model is another matter: underfitting
        yield from in_vain(trainings(train_loss or [], targets or [], initial_weights or []), [*(learnable or ()), *(few_rows or ())], steps)


def in_vain(runs: list[Training], tells: list[Fact], steps: int) -> Iterator[Finding]:
    """A loss that stays at that of the best constant, though the nearest rows of the same data tell the targets, or they are but a handful."""
    for training in runs:
        wrong = behind(training, [f for f in tells if f.name == "learnable"], 0.3) or by_heart(training, [f for f in tells if f.name == "few_rows"])
        if wrong is None or len(training.losses) < steps or (training.learnt or 0.0) > 0.05:
            continue
        evidence = [("share of the loss of the best constant answer that training got rid of", round(training.learnt or 0.0, 3), "most of it"), *wrong.evidence]
        place = training.place.but(step=int(training.steps[-1]))
        first = "multiply the learning rate by ten, or take Adam, until it learns them" if wrong.kind == "by heart" else "let it learn 20 rows by heart first"
        remedy = f"{first}: where that fails too, the path from the inputs to the loss is broken"
        yield Finding(f"{len(training.losses)} steps taught the model nothing: {wrong.says}", place, evidence, remedy, severity="warning", confidence=0.55)
        return


def built_anew(fact: Fact, least: int) -> Iterator[Finding]:
    """A model built again and again on one line, and never used once it was trained."""
    pairs = fact["pairs"]
    unused, dropped = fact["unused"], fact["dropped"]
    once = fact["epochs"].count(1) >= 0.8 * len(fact["epochs"]) and bool(fact["epochs"])
    again = fact["same_values"] >= 0.8 * pairs or once
    if pairs + 1 < least or fact["same_shapes"] < pairs or unused < 0.8 * pairs or dropped < 0.8 * pairs or not again or not any(fact["steps"]):
        return
    evidence = [("times that model and optimizer were built on this line", fact["builds"], 1), ("of them thrown away after training, unused", unused, 0)]
    if fact["same_values"]:
        evidence.append(("of them that started from the very same weights as the one before", fact["same_values"], 0))
    evidence.append(("steps that each was trained for", sorted(fact["steps"])[len(fact["steps"]) // 2], "all steps of the run"))
    yield Finding(
        says=f"model and {fact['class']} are built anew {fact['builds']} times, so every epoch begins from the start",
        place=Place(stage="train", file=fact.place.file, line=fact.place.line, step=fact.place.step),
        evidence=evidence,
        remedy="build the model and its optimizer once, before the loop over epochs",
        confidence=0.92,
        verified="fact",
    )
