"""nonfinite-values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...catalogue import check
from ...events import Fact
from ...findings import Finding

HARM = ("loss", "gradient", "fit", "crash")


@check(
    stage="preprocess", severity="error", leads_to=("nonfinite-loss", "not-learning", "exploding-gradient", "bad-init", "missing-values"),
    interventions=("rows left out", "inputs made finite"),
)  # fmt: skip
def nonfinite_values(nonfinite_found: list[Fact]) -> Iterator[Finding]:
    """The data or the weights hold NaN or infinity before anything is learnt from them.

    What it means
    -------------
    A row, a column or a stored weight is not finite: 0/0 in a normalisation, log(0), a gap that became NaN, a vector divided by its norm
    of 0.
    Why it is bad
    -------------
    One such row turns the loss and every parameter into NaN in the step that meets it.
    Evidence
    --------
    Which tensor or column, which rows as read, how many values, and that they reach a loss, a gradient or a fit. Values that are masked
    out on the way are not accused. No threshold.
    Remedy
    ------
    Mend or leave out the rows; guard the operation that makes them.
    Fault
    -----
        import torch

        torch.manual_seed(0)
        x = torch.rand(40, 4)
        x[17] = 0
        x = x / x.norm(dim=1, keepdim=True)  # sabueso: nonfinite-values
        y = torch.rand(40, 1)
        net = torch.nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for rows in torch.arange(40).split(8):
            loss = (net(x[rows]) - y[rows]).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    Control
    -------
        import torch

        torch.manual_seed(0)
        x = torch.rand(40, 4)
        x[17] = 0
        x = x / x.norm(dim=1, keepdim=True).clamp(min=1e-8)
        y = torch.rand(40, 1)
        net = torch.nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for rows in torch.arange(40).split(8):
            loss = (net(x[rows]) - y[rows]).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    References
    ----------
    IEEE 754: any operation on NaN gives NaN.
    """
    for fact in nonfinite_found:
        if fact.get("reaches") in HARM:
            yield weight(fact) if fact["where"] in ("parameter", "buffer") else data(fact)


def data(fact: Fact) -> Finding:
    """Rows of a batch, a table or an array."""
    spot = fact.get("spot") or {}
    rows = spot.get("rows") or fact.get("rows") or []
    array = spot.get("table") or spot.get("array") or fact.get("table") or fact.get("tensor") or "the data"
    column = spot.get("column") or fact.get("column") or positions(fact)
    count = spot.get("count") or fact.get("row_count") or len(rows)
    kind = "NaN" if fact.get("nan", 1) else "infinite"
    which = ", ".join(map(str, rows[:3])) + (", .." if count > 3 else "")
    name = column if isinstance(column, str) else fact.get("tensor") or array
    says = f"{fact['count']} values of {name} are {kind}, in row {which} of {array}: they reach the {fact['reaches']}"
    source = fact.get("in_source") or {}
    evidence: list[tuple[str, Any, Any]] = [
        (f"non-finite values in {fact.get('tensor') or name}", fact["count"], 0),
        (f"rows of {array}", rows[:10], []),
    ]
    advice = f"mend or leave out row {which} of {array}"
    if source.get("finite"):
        evidence.append((f"values of the row in {array}", [source.get("min"), source.get("max")], "finite, and so they are"))
        says += "; as stored the row is finite" + (" but constant, so that its spread is 0" if source.get("constant") else "")
        advice = "guard the preparation of a sample, as in (x - mean) / (std + 1e-6)" if source.get("constant") else advice
    made = fact.get("made_by")
    if made:
        says += f"; {made.get('text') or made['op']} makes it so"
        evidence.append((f"{made['op']} while the sample is made: non-finite results", made["bad"], 0))
    row = rows[0] if len(rows) == 1 else rows[:50] or None
    place = fact.place.but(column=column, row=row, tensor=spot.get("array") or fact.get("tensor"), stage=None)
    if spot.get("file"):
        place = place.but(file=spot["file"], line=spot.get("line"))
    return Finding(says, place, evidence, advice, confidence=0.96, verified=proof(fact))


def positions(fact: Fact) -> int | list[int] | None:
    """The columns of a table without names, where not all are concerned."""
    found = fact.get("columns") or []
    return found[0] if len(found) == 1 else found or None


def weight(fact: Fact) -> Finding:
    """Rows of a parameter or buffer that was not finite before the first step."""
    rows, count = fact["rows"], fact["row_count"]
    which = ", ".join(map(str, rows[:3])) + (", .." if count > 3 else "")
    source = f" of {fact['source']}" if fact.get("source") else ""
    name = fact.get("key") or fact["tensor"]
    says = f"row {which} of {name}{source} is not finite ({fact['count']} values): {fact['tensor']} brings it into the {fact['reaches']}"
    evidence = [
        (f"non-finite values in {fact['tensor']}", fact["count"], 0),
        (f"rows of {name}{source}", rows[:10], []),
        ("shape", fact["shape"], None),
    ]
    place = fact.place.but(row=rows[0] if len(rows) == 1 else rows[:50] or None, tensor=name, stage=None)
    advice = f"replace row {which} of {name}{source} (a zero vector stays zero when divided by max(norm, 1e-8)), or check finiteness on loading"
    return Finding(says, place, evidence, advice, confidence=0.96, verified=proof(fact), covers=("nonfinite-loss",))


def proof(fact: Fact) -> str | dict[str, Any]:
    if fact.get("equal"):
        return {
            "how": "the step run again with every operation watched, bit-equal",
            "before": f"{fact['reaches']} non-finite",
            "after": "traced to it",
        }
    return "fact"
