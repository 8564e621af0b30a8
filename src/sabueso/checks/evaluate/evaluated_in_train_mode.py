"""evaluated-in-train-mode."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...modes import dropped_by_function, half_switched
from ...places import Place


@check(stage="evaluate", severity="error", leads_to=("misleading-metric", "overfitting", "unseeded"), interventions=("evaluation mode",))
def evaluated_in_train_mode(evaluation: list[Fact], train_loss: list[Series] | None = None, *, least: int = 2) -> Iterator[Finding]:
    """A model is scored while its dropout and batch norms are in training mode.

    What it means
    -------------
    `eval()` was not called before the score was computed.
    Why it is bad
    -------------
    Dropout makes every score noisy and too low; batch norms use the statistics of the test batch and write them into the model.
    Evidence
    --------
    Calls of the model without gradients whose output was compared, counted or put into a loss, with the layers that were live. Silent where
    the same input is passed several times (Monte Carlo dropout), where it is the batch just trained on, where nothing is scored (fakes of
    a generator, targets, refreshing batch norm statistics), and where nothing in the model behaves differently in training; where it is in
    eval mode at times, unless that ended with a further step of training (an update while it serves). Or dropout by function that is told
    no mode, in a model that is in eval mode. Or a model whose own flag alone says eval mode while all that it is made of is in training mode:
    its class has a train() or eval() that does not hand the mode on, or its flag was set by hand.
    Remedy
    ------
    `model.eval()` before the evaluation, `model.train()` after it.
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        x, y = torch.randn(160, 4), torch.randint(0, 2, (160,))
        net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.05)
        for epoch in range(4):
            loss = nn.functional.cross_entropy(net(x[:120]), y[:120])
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                right = (net(x[120:]).argmax(1) == y[120:]).float().mean()  # sabueso: evaluated-in-train-mode
    Control
    -------
        import torch
        from torch import nn

        torch.manual_seed(0)
        x, y = torch.randn(160, 4), torch.randint(0, 2, (160,))
        net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.05)
        for epoch in range(4):
            net.train()
            loss = nn.functional.cross_entropy(net(x[:120]), y[:120])
            opt.zero_grad()
            loss.backward()
            opt.step()
            net.eval()
            with torch.no_grad():
                right = (net(x[120:]).argmax(1) == y[120:]).float().mean()
    References
    ----------
    PyTorch documentation, Module.eval; Gal and Ghahramani 2016 for dropout that is left on by design.
    """
    by_line: dict[tuple[int, str, str | None, int | None], list[Fact]] = defaultdict(list)
    for fact in evaluation:
        if (not fact["grad"] or fact["why"] == "loader") and fact["metrics"] and not fact["training_batch"]:
            by_line[fact.process, fact["model"], fact.place.file, fact.place.line].append(fact)
    yield from dropped_by_function(evaluation)
    told = set()
    for found in half_switched(evaluation):
        told.add((found[0].process, found[0]["model"]))
        yield found[1]
    for (process, model, file, line), facts in by_line.items():
        live = [f for f in facts if f["training"] and f["live"] and f["repeats"] < 3]
        asleep = [f for f in facts if not (f["training"] and f["live"])]
        left = left_behind(live, asleep)
        enough = 1 if at_the_end(live, train_loss or []) else least
        meant = not left and (bool(asleep) or 2 * len(live) <= len(facts))  # mostly repeats: sampling is meant
        if len(live) < enough or meant or (process, model) in told:
            continue
        told.add((process, model))
        first = live[0]
        at = first["lines"]["train"] if left else (file, line)
        dropped = [p for p, name in first["live"] if "Dropout" in name]
        kinds = ", ".join(sorted({name for _, name in first["live"]}))
        yield Finding(
            says=f"`{model}` is scored in training mode: {kinds} behave as in training" + left,
            place=Place(stage="evaluate", file=at[0], line=at[1], step=first.place.step, module=dropped[0] if dropped else first["live"][0][0]),
            evidence=[
                (f"evaluations of `{model}` that were seen in training mode", len(live), f"0 of {len(facts)}"),
                ("layers that were live", len(first["live"]), 0),
            ],
            remedy=f"`{model}.eval()` at the end of the update that begins in line {at[1]}"
            if left
            else f"`{model}.eval()` before line {line}, `{model}.train()` before training goes on",
            edit=() if left else ("around", f"{model}.eval()", f"{model}.train()"),
            confidence=0.92,
            verified="fact",
        )


def left_behind(live: list[Fact], asleep: list[Fact], least: int = 2) -> str:
    """Was the model answering in eval mode at this line until it was trained on, and never switched back? Empty where it was not.

    Batch norms may be asked for a batch's own moments on purpose: they count where a row is judged alone.
    """
    if len(live) < least or not asleep or "train" not in live[0]["lines"]:
        return ""
    before, after = max(asleep, key=lambda f: f.order), min(live, key=lambda f: f.order)
    harmful = all(f["rows"] == 1 or any("Dropout" in name for _, name in f["live"]) for f in live)
    switched = before.order < after.order and (before.place.step or 0) < (after.place.step or 0)
    update = f", since an update put it there (line {after['lines']['train'][1]}); before that it answered in line {after.place.line} in eval mode"
    return update if switched and harmful else ""


def at_the_end(live: list[Fact], train_loss: list[Series]) -> bool:
    """Is it the answers of a model that was never switched that are compared when all training is over?"""
    last = max((int(s.steps[-1]) for s in train_loss if len(s)), default=0)
    done = [f for f in live if last and (f.place.step or 0) > last and "eval" not in f["lines"] and f["repeats"] == 1 and (f["rows"] or 0) >= 8]
    return bool(done) and any({"argmax", "eq", "round"} & set(f["metrics"]) for f in done)
