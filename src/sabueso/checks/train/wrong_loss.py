"""wrong-loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...places import Place
from ...reach import constant

BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
SIGNED = ("soft_margin_loss", "hinge_embedding_loss")
REGRESSION = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


@dataclass(frozen=True, slots=True)
class Unfit:
    """What is wrong with a loss call: a sentence, the numbers, the remedy, how sure it is."""

    says: str
    evidence: list[tuple[str, Any, Any]]
    remedy: str
    confidence: float
    covers: tuple[str, ...] = ()


@check(stage="train", severity="error", leads_to=("not-learning", "underfitting", "misleading-metric", "learning-rate-too-low", "nonfinite-loss"))
def wrong_loss(loss_call: list[Fact], evaluation: list[Fact] = None, *, least: int = 2) -> Iterator[Finding]:
    """The loss is made for another kind of target.

    What it means
    -------------
    Cross-entropy over classes that exclude each other is given rows with several labels, or one column; a binary one is given quantities or class numbers;
    a loss for labels of -1 and 1 is given 0 and 1; class numbers are learnt as if they were quantities.
    Why it is bad
    -------------
    The labels of a row compete for one probability: none of them can come near 1.
    Evidence
    --------
    Targets of cross_entropy that are floats of only 0 and 1, with rows that sum to 2 or more, in at least two sampled steps. Soft and mixed
    labels sum to 1. Binary cross-entropy: a twentieth of the targets and more outside of 0 to 1 (reduced at once: what a mask leaves out later
    is not spoken of). Quantities of 3 to 12 whole levels from 0 on, integers before, are spoken of only where answers are rounded and compared.
    Remedy
    ------
    `binary_cross_entropy_with_logits`; `mse_loss`; `cross_entropy`, as the targets are.
    Fault
    -----
        import torch

        torch.manual_seed(0)
        x = torch.randn(64, 5)
        y = (x[:, :4] > 0).float()
        net = torch.nn.Linear(5, 4)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(12):
            opt.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x), y)  # sabueso: wrong-loss
            loss.backward()
            opt.step()
    Control
    -------
        import torch

        torch.manual_seed(0)
        x = torch.randn(64, 5)
        y = (x[:, :4] > 0).float()
        net = torch.nn.Linear(5, 4)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(12):
            opt.zero_grad()
            loss = torch.nn.functional.binary_cross_entropy_with_logits(net(x), y)
            loss.backward()
            opt.step()
    References
    ----------
    PyTorch documentation of CrossEntropyLoss: class indices, or probabilities for each class.
    """
    by_line: dict[tuple[int, str | None, int | None, str], list[tuple[Fact, Unfit]]] = {}
    rounded = any({"round", "eq"} <= set(f["metrics"]) for f in evaluation or ())
    for fact in loss_call:
        unfit = unfitting(fact, rounded) if fact["in_loss"] else None
        if unfit is not None:
            by_line.setdefault((fact.process, fact.place.file, fact.place.line, unfit.remedy), []).append((fact, unfit))
    for found in by_line.values():
        if len(found) >= least:
            first, unfit = found[0]
            file, line = first.get("built") or (first.place.file, first.place.line)
            place = Place(stage="train", file=file, line=line, step=first.place.step, module=first.place.module)
            yield Finding(unfit.says, place, unfit.evidence, unfit.remedy, confidence=unfit.confidence, verified="fact", covers=unfit.covers)


def unfitting(fact: Fact, rounded: bool) -> Unfit | None:
    """What a loss was given that it is not made for."""
    function, target, given = fact["function"], fact["target"], fact["prediction"]
    distinct = target.get("distinct")
    if "categorical" in function and (same := constant(function, given["shape"], None)) is not None:
        return Unfit(same[0], [("columns of the prediction", 1, "one for each class, at least 2"), ("values of the targets", distinct, "one column a class")],
                     f"{same[1]}, or one output and one column of the target a class", 0.95, ("graph-broken", "metric-inputs"))  # fmt: skip
    if function == "cross_entropy" and "float" in target["dtype"] and distinct == [0.0, 1.0]:
        return several_labels(target) if target["shape"] == given["shape"] and target.get("row_sum_high", 0) >= 2 else None
    if function in BINARY and fact["reduction"] != "none" and not fact["weights"] and target.get("outside_unit", 0.0) >= 0.05:
        wide = len(target["shape"]) > 1 and target["shape"][-1] >= 8  # raw pixels or columns to be reproduced: unscaled-input
        return None if wide else beyond_unit(function, target, distinct)
    if function in SIGNED and isinstance(distinct, list) and 0 in distinct and set(distinct) <= {0, 1}:
        return Unfit(f"{function} takes labels of -1 and 1, and is given 0 and 1: rows of label 0 have no slope",
                     [("values of the targets", distinct, [-1, 1])], "2 * y - 1 as the target, or binary_cross_entropy_with_logits", 0.93)  # fmt: skip
    if function == "kl_div" and not fact.get("log_target") and target.get("low", 0.0) < -1e-3:
        return Unfit("kl_div takes probabilities as its target, and is given logarithms or scores", [("lowest value of the target", target["low"], "0 to 1")],
                     "log_target=True, or a softmax in place of the log_softmax of the target", 0.93)  # fmt: skip
    if function in REGRESSION and rounded and codes(fact):
        levels = int(target["high"]) + 1
        return Unfit(f"{function} takes class numbers for quantities: class 0 is as far from class {levels - 1} as numbers can be, whatever they stand for",
                     [("values of the targets", distinct, "one output a class"), ("columns of the prediction", 1, levels)],
                     f"give the last layer {levels} outputs and use cross_entropy with the labels as they are", 0.75)  # fmt: skip
    return None


def codes(fact: Fact) -> bool:
    """Whole numbers from 0 on without a gap that were integers before, for one output: classes and no quantities, where answers are rounded to them."""
    target, distinct = fact["target"], fact["target"].get("distinct")
    small = isinstance(distinct, list) and 3 <= len(distinct) <= 12 and distinct == list(range(len(distinct)))
    return bool(small and fact.get("target_integers") and target["shape"] and (len(target["shape"]) == 1 or target["shape"][1:] == [1]))


def several_labels(target: dict[str, Any]) -> Unfit:
    """Labels that do not exclude each other."""
    return Unfit("cross_entropy is given rows with several labels, as if the classes excluded each other",
                 [("most labels of one row", target["row_sum_high"], 1), ("values of the targets", "0 and 1", "a class index, or shares that sum to 1")],
                 "binary_cross_entropy_with_logits, with a threshold for each class", 0.92)  # fmt: skip


def beyond_unit(function: str, target: dict[str, Any], distinct: Any) -> Unfit:
    """Targets of a binary cross-entropy that are no probabilities: it has no lower bound."""
    whole = isinstance(distinct, list)
    what = f"class numbers {distinct}" if whole else f"numbers from {target['low']:.4g} to {target['high']:.4g}"
    remedy = "mse_loss (or smooth_l1_loss) for quantities" if not whole else "targets of 0 and 1 for two classes, cross_entropy for several"
    return Unfit(f"{function} is given {what} as targets: outside of 0 to 1 it falls without end",
                 [("share of targets outside 0 to 1", round(target["outside_unit"], 3), 0.0),
                  ("range of the targets", [target["low"], target["high"]], [0, 1])], remedy, 0.94)  # fmt: skip
