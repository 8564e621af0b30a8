"""shape-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from ... import comparisons
from ...catalogue import check
from ...crashes import cause_of, is_shape
from ...events import Fact
from ...findings import Finding
from ...places import Place

LATER = ("unit-change", "covariate-drift", "preprocess-skew", "dtype-changed")  # columns out of place look like other values


@check(stage="preprocess", severity="error", leads_to=LATER, instead=("tables_apart",))
def shape_mismatch(crash: list[Fact], *, tables_apart: list[Fact] | None = None) -> Iterator[Finding]:
    """Two arrays, or an array and a layer or estimator, do not fit each other in size.

    What it means
    -------------
    The program ended in an exception about shapes. The line that raised is seldom the one to mend: a layer was made for another size, a
    tensor was made once for a full batch, or columns were left in or out.
    Why it is bad
    -------------
    Nothing after it runs; on a last short batch it does so only at the end of the first epoch.
    Evidence
    --------
    The sizes of the operands as they were when the exception passed, and the line that made the one that does not fit. An exact fact, no
    threshold.
    Remedy
    ------
    Change the size where it is set: the line is named.
    Fault
    -----
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(1, 4, 3)
                self.head = nn.Linear(4 * 8 * 8, 2)  # sabueso: shape-mismatch

            def forward(self, x):
                return self.head(torch.relu(self.conv(x)).flatten(1))

        Net()(torch.rand(3, 1, 8, 8))
    Control
    -------
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(1, 4, 3)
                self.head = nn.Linear(4 * 6 * 6, 2)

            def forward(self, x):
                return self.head(torch.relu(self.conv(x)).flatten(1))

        Net()(torch.rand(3, 1, 8, 8))
    References
    ----------
    Islam et al., A Comprehensive Study on Deep Learning Bug Characteristics, FSE 2019: wrong tensor shapes are the most common cause of
    crashes.
    """
    yield from comparisons.columns(tables_apart or ())
    for fact in crash:
        if not is_shape(fact):
            continue
        cause = cause_of(fact)
        if cause is None or cause.kind == "layout":
            continue
        place = Place(
            file=cause.file, line=cause.line, module=cause.module, tensor=cause.tensor, column=cause.column, estimator=cause.estimator,
            row=cause.row,            step=fact.place.step, epoch=fact.place.epoch, stage=fact.place.stage,
        )  # fmt: skip
        message = ("exception", f"{fact['type']}: {str(fact['message']).splitlines()[0][:160]}", None)
        yield Finding(cause.says, place, [*cause.evidence[:4], message], cause.remedy, confidence=0.95, verified="fact", edit=cause.edit)
        return
