"""tiny-batch-norm."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding


@check(stage="train", severity="error", leads_to=("nonfinite-loss", "not-learning", "underfitting", "shape-mismatch", "learning-rate-too-high"))
def tiny_batch_norm(norm_rows: list[Series] = None, crash: list[Fact] = None, model_input: list[Fact] = None, *, least: int = 4) -> Iterator[Finding]:
    """A batch normalisation takes its moments over hardly any rows.

    What it means
    -------------
    It subtracts the mean and divides by the deviation of the batch. Over two values the result is always -1 and 1, whatever they were;
    over one it is 0, and torch refuses.
    Why it is bad
    -------------
    What a row becomes depends on which other row it met. The model learns from noise, and the running moments that it uses in evaluation
    fit no batch that it was trained on.
    Evidence
    --------
    Values per channel in a training step (rows times places): below 4 in the median over the sampled steps, an exact count. Or the crash
    of a batch of one row, told with the layer.
    Remedy
    ------
    Larger batches (16 or more), LayerNorm or GroupNorm, or drop_last=True where only the last batch is short.
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(128, 6)
        y = (x[:, 0] > 0).long()
        net = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))  # sabueso: tiny-batch-norm
        opt = torch.optim.SGD(net.parameters(), lr=0.05)
        for epoch in range(2):
            for rows in torch.randperm(128).split(2):
                loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
                opt.zero_grad()
                loss.backward()
                opt.step()
    Control
    -------
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(128, 6)
        y = (x[:, 0] > 0).long()
        net = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.05)
        for epoch in range(8):
            for rows in torch.randperm(128).split(32):
                loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
                opt.zero_grad()
                loss.backward()
                opt.step()
    References
    ----------
    Wu, He 2018, "Group normalization": the error of batch normalisation rises below 8 rows.
    """
    for fact in crash or []:
        if re.search(r"Expected more than 1 (value|spatial element)", str(fact.get("message", ""))):
            yield of_crash(fact, norm_rows or [])
            return
    few = [s for s in norm_rows or [] if len(s) >= 3 and np.median(s.values) < least]
    if few:
        first = few[0]
        rows = int(np.median(first.values))
        says = f"{first.place.module} normalises over {rows} values a channel in each step: what a row becomes depends on the row beside it"
        evidence = [
            (f"values per channel at {first.place.module}, median over {len(first)} sampled steps", rows, "16 or more"),
            ("layers of the kind concerned", len(few), 0),
        ]
        remedy = "train with batches of 16 or more, or use nn.LayerNorm or nn.GroupNorm in place of it"
        yield Finding(says, first.place.but(step=int(first.steps[0]) + 1, tensor=None), evidence, remedy, confidence=0.93, verified="fact")


def of_crash(fact: Fact, norm_rows: list[Series]) -> Finding:
    """A batch of one row."""
    layer = fact.get("layer") or {}
    module = layer.get("path")
    usual = next((int(np.median(s.values)) for s in norm_rows if s.place.module == module and len(s)), None)
    shape = re.search(r"torch\.Size\(\[([\d, ]+)\]\)", str(fact["message"]))
    rows = int(shape.group(1).split(",")[0]) if shape else 1
    says = f"a batch of {rows} row reached {module or 'a batch normalisation'} in training: one value has no deviation"
    evidence = [("rows of the batch", rows, f"2 or more (usual: {usual})" if usual else "2 or more"), ("steps before it", fact.place.step, None)]
    frames = fact.get("frames") or [[None, None, None]]
    place = fact.place.but(module=module, file=frames[0][0] or fact.place.file, line=frames[0][1] or fact.place.line)
    remedy = "give the loader drop_last=True, or a batch size that leaves no single row over"
    return Finding(says, place, evidence, remedy, confidence=0.97, verified="fact", covers=("shape-mismatch",))
