"""misaligned-labels."""

from __future__ import annotations

from collections.abc import Iterator

from ... import alignment, out_of_step
from ... import broken_rows as broken
from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="preprocess", severity="error", leads_to=("not-learning", "overfitting", "underfitting", "learning-rate-too-high", "learning-rate-too-low"))
def misaligned_labels(
    *,
    label_agreement: list[Fact] | None = None,
    label_offset: list[Fact] | None = None,
    label_twins: list[Fact] | None = None,
    row_mismatch: list[Fact] | None = None,
    counterfactual: list[Fact] | None = None,
    broken_rows: list[Fact] | None = None,
) -> Iterator[Finding]:
    """Rows of features stand beside labels of other rows.

    What it means
    -------------
    Features and labels come from two places and are put together by position, but one of them is shifted from some row on, sorted
    otherwise (file names as text), or in another order in one part.

    Why it is bad
    -------------
    Every length and count is right, so nothing fails. The model learns noise in those rows, and the score in them means nothing.

    Evidence
    --------
    For the content: how many labels the nearest neighbours among the features confirm (10 neighbours, up to 2,000 rows), in a stretch of
    rows against the rest of the same table, class by class. A stretch is told only if it falls to at most 0.35 of the way from chance to
    what the rest reaches, and if a shift, an order at hand or its being out of order explains it (at least 0.7 of the way comes back).

    Remedy
    ------
    Join features and labels by an identifier and not by position.

    Fault
    -----
        import torch
        from sklearn.datasets import load_digits
        digits = load_digits()
        torch.manual_seed(0)
        x = torch.tensor(digits.data[:900], dtype=torch.float32) / 16  # sabueso: misaligned-labels
        y = torch.tensor(digits.target[:900])
        x = torch.cat([x[:400], x[401:], x[400:401]])
        net = torch.nn.Linear(64, 10)
        opt = torch.optim.Adam(net.parameters(), 1e-2)
        for step in range(60):
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            opt.step()

    Control
    -------
        import torch
        from sklearn.datasets import load_digits
        digits = load_digits()
        torch.manual_seed(0)
        x = torch.tensor(digits.data[:900], dtype=torch.float32) / 16
        y = torch.tensor(digits.target[:900])
        x, y = torch.cat([x[:400], x[401:], x[400:401]]), torch.cat([y[:400], y[401:], y[400:401]])
        net = torch.nn.Linear(64, 10)
        opt = torch.optim.Adam(net.parameters(), 1e-2)
        for step in range(60):
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            opt.step()

    References
    ----------
    Northcutt, Athalye, Mueller: Pervasive Label Errors in Test Sets (2021): neighbours and models that disagree with labels.
    """
    others = {"renamed", "disordered"} if label_twins else {"renamed"}  # label-encoding-mismatch; two labels a row are label-conflict
    yield from (alignment.of(f) for f in label_agreement or () if f["kind"] not in others)
    yield from (alignment.of_offset(f) for f in (label_offset or ())[:1])
    yield from (out_of_step.of(f, counterfactual) for f in (row_mismatch or ())[:1])
    if not label_offset and not row_mismatch:
        yield from (broken.of(f) for f in broken_rows or () if f["kind"] in ("rolled", "permuted"))
