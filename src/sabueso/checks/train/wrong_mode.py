"""wrong-mode."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...places import Place

LEADS_TO = (
    "exploding-gradient",
    "not-learning",
    "overfitting",
    "learning-rate-too-high",
    "nonfinite-loss",
    "covariate-drift",
    "vanishing-gradient",
    "dead-units",
)


@check(stage="train", severity="error", leads_to=LEADS_TO, interventions=("training mode",))
def wrong_mode(mode: list[Fact], parameters: list[Fact], *, strays: float = 1.0, backbone: float = 0.5) -> Iterator[Finding]:
    """A model is trained while it is in evaluation mode.

    What it means
    -------------
    `eval()` was called (by an evaluation, or a loader) and `train()` was not called again before training went on.
    Why it is bad
    -------------
    Dropout is off, and batch norms normalise with stored statistics instead of those of the batch: activations run away where the data has
    changed, and the statistics are never updated.
    Evidence
    --------
    The training flag at the sampled steps whose backward reached the model; dropout layers that are off; how far batches lie from the stored
    statistics. Silent where more than half of its parameters are frozen (a backbone that is kept as it is), where the model itself is in
    training mode and only some layers are not (frozen batch norms), where nothing in it behaves differently in training, and where batch norms
    alone are concerned and their statistics fit the batches (within one standard deviation).
    Remedy
    ------
    `model.train()` at the start of each epoch.
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        x, y = torch.randn(64, 4), torch.randint(0, 2, (64,))
        net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.05)
        net.eval()
        for step in range(12):
            loss = nn.functional.cross_entropy(net(x), y)  # sabueso: wrong-mode
            opt.zero_grad()
            loss.backward()
            opt.step()
    Control
    -------
        import torch
        from torch import nn

        torch.manual_seed(0)
        x, y = torch.randn(64, 4), torch.randint(0, 2, (64,))
        net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.05)
        net.eval()
        for step in range(12):
            net.train()
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    References
    ----------
    PyTorch documentation, Module.train and Module.eval.
    """
    changed = {(f.process, f["model"]) for f in parameters if any(r["changed"] for r in f["rows"])}
    by_model: dict[tuple[int, str], list[Fact]] = defaultdict(list)
    for fact in mode:
        by_model[fact.process, fact["model"]].append(fact)
    for key, facts in by_model.items():
        asleep = [f for f in facts if not f["training"] and f["asleep"] and f.get("frozen", 0) < backbone]
        if key not in changed or not asleep:
            continue
        at = asleep[0].place.step or 0
        later = [f for f in facts if (f.place.step or 0) >= at]
        if len(asleep) < 2 or any(f["training"] for f in later):
            continue
        fact = asleep[-1]
        dropouts = [p for p, name in fact["asleep"] if "Dropout" in name]
        strayed = next((row for f in asleep for row in f["strayed"] if row[1] > strays or row[2] > 2 or row[3] == 0), None)
        off = strayed is not None
        if not dropouts and not off:
            continue
        evidence = [(f"sampled training steps with `{fact['model']}` in evaluation mode", len(asleep), f"0 of {len(later)}")]
        if dropouts:
            evidence.append((f"dropout layers that are off in training, first `{dropouts[0]}`", len(dropouts), 0))
        if off and strayed is not None:
            evidence.append((f"distance of a training batch from the stored mean of `{strayed[0]}`, in standard deviations", round(strayed[1], 2), "near 0"))
        file, line = (asleep[0].place.file, asleep[0].place.line)
        where = fact["lines"].get("eval")
        yield Finding(
            says=f"`{fact['model']}` is trained in evaluation mode" + (f": eval() in line {where[1]} was not followed by train()" if where else ""),
            place=Place(stage="train", file=file, line=line, step=asleep[0].place.step, module=strayed[0] if off and strayed else dropouts[0]),
            evidence=evidence,
            remedy=f"`{fact['model']}.train()` before the training loop of each epoch",
            confidence=0.93 if off or len(dropouts) else 0.7,
            verified="fact",
        )
