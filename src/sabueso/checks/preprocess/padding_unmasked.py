"""padding-unmasked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...learning import trainings
from ...places import Place

LEADS_TO = ("not-learning", "underfitting", "learning-rate-too-low", "vanishing-gradient", "overfitting", "input-bound", "dead-units", "saturated-units")


@check(stage="preprocess", severity="error", leads_to=LEADS_TO)
def padding_unmasked(
    padding: list[Fact], train_loss: list[Series], targets: list[Fact] | None = None, *, share: float = 0.6, learnt: float = 0.5
) -> Iterator[Finding]:
    """The model reads on through padding that far outweighs the data.

    What it means
    -------------
    Sequences are filled up to one width, and the last state of a recurrent layer, or a mean over all places, is taken without telling the
    filling apart.
    Why it is bad
    -------------
    A last state has forgotten the words by the time it comes to the end; a mean is a mean of filling.
    Evidence
    --------
    The share of filling in the batches, the width against the usual length, and that nothing between the numbers and the loss is a mask, a
    packed sequence or a choice by length, or that the mask given is one everywhere or never used. Spoken only where more than 60 % of all places are filling
    behind the data and less than half of the loss of the best constant answer was got rid of: a little filling does no harm, and recurrent
    layers can learn to wait.
    Remedy
    ------
    `pack_padded_sequence` with the lengths, a mean over the mask, or a width that the data needs.
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        ids = torch.zeros(256, 60, dtype=torch.long)
        ids[:, :5] = torch.randint(1, 12, (256, 5))
        y = (ids[:, :5] == 3).any(1).long()
        table, gru, head = nn.Embedding(12, 8, padding_idx=0), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 2)
        opt = torch.optim.Adam([*table.parameters(), *gru.parameters(), *head.parameters()], lr=0.01)
        for step in range(40):
            rows = torch.randint(0, 256, (32,))
            _, h = gru(table(ids[rows]))  # sabueso: padding-unmasked
            loss = nn.functional.cross_entropy(head(h[-1]), y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
    Control
    -------
        import torch
        from torch import nn

        torch.manual_seed(0)
        ids = torch.randint(1, 12, (256, 5))
        y = (ids == 3).any(1).long()
        table, gru, head = nn.Embedding(12, 8, padding_idx=0), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 2)
        opt = torch.optim.Adam([*table.parameters(), *gru.parameters(), *head.parameters()], lr=0.01)
        for step in range(40):
            rows = torch.randint(0, 256, (32,))
            _, h = gru(table(ids[rows]))
            loss = nn.functional.cross_entropy(head(h[-1]), y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
    References
    ----------
    PyTorch documentation, pack_padded_sequence; key_padding_mask of MultiheadAttention.
    """
    runs = trainings(train_loss, targets or ())
    told = set()
    for fact in padding:
        if fact["masked"] or not fact["pool"] or fact["pad_share"] < share or fact["side"] != "end" or fact["model"] in told:
            continue
        training = next((t for t in runs if t.learnt is not None), runs[0] if runs else None)
        if training is None or (training.learnt if training.learnt is not None else 1 - training.last / max(training.first, 1e-12)) > learnt:
            continue
        told.add(fact["model"])
        yield finding(fact, training)


def finding(fact: Fact, training: Any) -> Finding:
    """The finding of one model."""
    width, filled = fact["shape"][1], fact.get("filled")
    evidence = [("share of the places in a batch that are filling", round(fact["pad_share"], 3), "what a mask leaves out"),
                (f"width of the sequences given to {fact['model']}", width, f"about {fact['median_length']:g}, their usual length")]  # fmt: skip
    place = Place(stage="preprocess", file=fact.place.file, line=fact.place.line, step=fact.place.step, module=fact.place.module, tensor=fact["name"])
    remedy = (
        "give the lengths to pack_padded_sequence"
        if fact["pool"] not in ("mean", "sum")
        else "take the mean over the places that a mask (ids != padding) keeps"
    )
    says = f"`{fact['pool']}` runs through the filling: {100 * fact['pad_share']:.0f} % of what it reads is padding"
    if fact.get("mask_zero") is not None:
        remedy = "see that the mask of the Embedding comes through to it" if fact["mask_zero"] else "mask_zero=True in the Embedding"
    if fact.get("idle_mask"):
        says += ", and the mask given beside it is one everywhere"
        remedy = f"make the mask from the ids: mask = (ids != {fact['pad']}).long()"
    elif fact.get("mask_unused"):
        says += ", and the mask given beside it is never used"
        remedy = f"hand the mask on to the layers of {fact['model']}, and {remedy}"
    if filled and filled["far"]:
        file, line = filled["line"] or (place.file, place.line)
        place = place.but(file=file, line=line, row=filled["far"] if len(filled["far"]) > 1 else filled["far"][0], column=filled.get("name"))
        evidence.append((f"length of sequence {filled['far'][0]}, which sets the width of all", filled["width"], f"at most {filled['usual']:g} in 99 of 100"))
        remedy += ", and cut or drop the odd sequence"
        says = f"one sequence of {filled['width']} sets the width of all, and {says}"
    if training.learnt is not None:
        evidence.append(("share of the loss of the best constant answer that training got rid of", round(training.learnt, 3), "most of it"))
    return Finding(says=says, place=place, evidence=evidence, remedy=remedy, confidence=0.85, verified="fact")
