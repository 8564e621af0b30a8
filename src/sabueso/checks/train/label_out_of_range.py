"""label-out-of-range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...places import Place


@check(stage="train", severity="error", leads_to=("shape-mismatch",), interventions=("such labels left out",))
def label_out_of_range(crash: list[Fact]) -> Iterator[Finding]:
    """A label is no class of the model, or an index has no row in the table that it looks up.

    What it means
    -------------
    With C outputs the classes are 0 to C - 1. A label of C or more (labels from 1, a class that the list forgot, a damaged row), or a
    negative one, has no output of its own; a word or category number at or beyond the size of an embedding has no vector.
    Why it is bad
    -------------
    The loss raises in the first batch that holds such a row; on a GPU it ends in a device-side assertion that names no line.
    Evidence
    --------
    The labels out of range, how many there are, and their rows in the data as read. An exact fact, no threshold.
    Remedy
    ------
    Mend the rows where they are few; count labels from 0 where all are shifted; add the output where the class is real.
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.rand(30, 4)
        y = torch.arange(30) % 4  # sabueso: label-out-of-range
        net = nn.Linear(4, 3)
        for rows in torch.arange(30).split(10):
            nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
    Control
    -------
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.rand(30, 4)
        y = torch.arange(30) % 3
        net = nn.Linear(4, 3)
        for rows in torch.arange(30).split(10):
            nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
    References
    ----------
    torch.nn.CrossEntropyLoss: targets are class indices in [0, C).
    """
    for fact in crash:
        labels = fact.get("labels")
        if labels:
            yield finding(fact, labels)
            return


def finding(fact: Fact, labels: dict[str, Any]) -> Finding:
    """Where the rows are, which values they hold, what there should be."""
    spot = labels.get("spot") or {}
    rows, count, limit = spot.get("rows") or [], spot.get("count") or labels["count"], labels["limit"]
    wrong = ", ".join(map(str, labels["values"][:5]))
    file, line = site(fact)
    array = spot.get("table") or spot.get("array") or labels.get("name") or "the batch"
    thing = "label" if labels["what"] == "label" else "index"
    say = f"{thing} {wrong} is out of range: " + (f"there are {limit} classes, 0 to {limit - 1}" if limit > 1 else "targets must lie in 0 to 1")
    if thing == "index":
        say = f"index {wrong} is out of range: there are {limit} rows, 0 to {limit - 1}"
    if rows:
        which = ", ".join(map(str, rows[:3])) + ", .." * (count > 3)
        say += f"; {count} row{'s' * (count != 1)} of {array} {'have' if count != 1 else 'has'} it (row {which})"
    place = Place(
        file=spot.get("file") or file, line=spot.get("line") or line, step=fact.place.step, epoch=fact.place.epoch,
        column=spot.get("column"), row=rows[0] if len(rows) == 1 else rows or None,
        tensor=labels.get("name"), module=(fact.get("layer") or {}).get("path") if thing == "index" else None,
    )  # fmt: skip
    evidence = [
        (f"{thing} values out of range in {array}", labels["values"][:10], f"0 to {limit - 1 if limit > 1 else 1}"),
        (f"rows of {array} that hold them", count, 0),
        ("exception", f"{fact['type']}: {str(fact['message']).splitlines()[0][:160]}", None),
    ]
    return Finding(say, place, evidence, remedy(labels, count, array), confidence=0.97, verified="fact")


def site(fact: Fact) -> tuple[str | None, int | None]:
    """The person's line that met the labels; where that only starts a trainer, the one that built the model, which says how many classes there are."""
    frames = fact.get("frames") or [[None, None, None]]
    made = (fact.get("layer") or {}).get("made") or {}
    met = any(o["kind"] in ("tensor", "array") for o in fact.get("operands") or [])
    if made.get("file") and not met and (fact.get("layer") or {}).get("library"):
        return made["file"], made["line"]
    return frames[0][0], frames[0][1]


def remedy(labels: dict[str, Any], count: int, array: str) -> str:
    """What to do, by what the values look like."""
    limit, values = labels["limit"], labels["values"]
    if labels["what"] == "index":
        return f"give the table {max(values) + 1} rows, or map numbers of {limit} and more to one for the unknown"
    if limit <= 1:
        return "scale or code the targets to 0 and 1, or use a loss on logits and real targets"
    if values == [limit]:
        rows = f"correct the {count} row{'s' * (count != 1)} of {array}"
        return f"{rows}; or subtract 1 where labels count from 1; or give the last layer {limit + 1} outputs"
    return f"correct the {count} row{'s' * (count != 1)} of {array}, or code the labels anew as 0 to {limit - 1}"
