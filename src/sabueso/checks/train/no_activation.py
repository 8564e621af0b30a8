"""no-activation."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...learning import behind, trainings

OWN = ("MultiheadAttention", "NonDynamicallyQuantizableLinear", "LSTM", "GRU", "RNN", "Embedding")


@check(stage="train", severity="error", leads_to=("underfitting", "not-learning"), interventions=("activation inserted",))
def no_activation(
    linear_chain: list[Fact],
    train_loss: list[Series],
    targets: list[Fact] = None,
    initial_weights: list[Fact] = None,
    learnable: list[Fact] = None,
    *,
    most_learnt: float = 0.5,
) -> Iterator[Finding]:
    """Two linear layers stand one behind the other with nothing between that bends.

    What it means
    -------------
    A linear map of a linear map is a linear map: the two layers can do no more than one, however wide they are.
    Why it is bad
    -------------
    What is not linear in the data can't be learnt; the training stops early at a high loss.
    Evidence
    --------
    An exact fact, of operations and not of names: the output of one layer is the input of the next, through nothing but reshaping or
    dropout. It is told where the training has not got rid of half of the loss of the best constant
    answer, or stays well behind its nearest rows. A narrow middle (fewer units
    than on either side: a factorised layer, a linear autoencoder, LoRA) is left out, since it says something.
    Remedy
    ------
    Put nn.ReLU() or nn.GELU() between them, or make them one layer.
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(600, 4)
        y = (x[:, 0] * x[:, 1] > 0).long()
        net = nn.Sequential(
            nn.Linear(4, 32),  # sabueso: no-activation
            nn.Linear(32, 32),
            nn.Linear(32, 2),
        )
        opt = torch.optim.Adam(net.parameters(), lr=1e-2)
        for epoch in range(8):
            for rows in torch.randperm(600).split(50):
                loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
                opt.zero_grad()
                loss.backward()
                opt.step()
    Control
    -------
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(600, 4)
        y = (x[:, 0] * x[:, 1] > 0).long()
        net = nn.Sequential(
            nn.Linear(4, 32),
            nn.ReLU(),
            nn.Linear(32, 32),
            nn.ReLU(),
            nn.Linear(32, 2),
        )
        opt = torch.optim.Adam(net.parameters(), lr=1e-2)
        for epoch in range(8):
            for rows in torch.randperm(600).split(50):
                loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
                opt.zero_grad()
                loss.backward()
                opt.step()
    References
    ----------
    Goodfellow, Bengio, Courville 2016, "Deep Learning", section 6.1.
    """
    found = [t for t in trainings(train_loss, targets or [], initial_weights or []) if t.learnt is not None]
    if not found or found[0].learnt is None or found[0].learnt >= most_learnt and behind(found[0], learnable or []) is None:
        return
    training = found[0]
    for fact in linear_chain:
        width, before, into = fact["width"], fact["from"], fact["into"]
        if None in (width, before, into) or width < min(before, into) or any(c in OWN for c in fact["classes"]) or fact["fed_by"] is None:
            continue
        if into == 1 and width < before:
            continue  # a narrow head on a learnt projection
        calls = [fact.place.file, fact.place.line]
        line = calls if fact.get("by_hand") else fact["built"][0] or calls
        says = f"{fact['module']} follows {fact['fed_by']} with no activation between them: both together are one linear layer"
        evidence = [
            ("operations that bend between the two layers", 0, "one or more"),
            (f"units between them ({before} in, {into} out)", width, None),
            ("share of the loss of the best constant that was got rid of", training.learnt, f"{most_learnt} or more"),
        ]
        place = fact.place.but(module=fact["fed_by"], file=line[0], line=line[1])
        keras = fact["classes"][0] == "Dense"
        remedy = f"give {fact['fed_by']} activation='relu'" if keras else f"put nn.ReLU() between {fact['fed_by']} and {fact['module']}"
        yield Finding(says, place, evidence, remedy, confidence=0.9, verified="fact")
        return
