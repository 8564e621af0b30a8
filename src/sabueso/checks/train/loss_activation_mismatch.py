"""loss-activation-mismatch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...places import Place
from ...reach import constant, least_loss, lowest, out_of_reach

TRANSPARENT = frozenset({"clamp", "clip", "clamp_min", "clamp_max", "dropout", "float", "convert_to_tensor", "cast"})
BOUNDED = {"sigmoid": (0.0, 1.0), "tanh": (-1.0, 1.0), "softmax": (0.0, 1.0), "relu": (0.0, math.inf), "hardtanh": (-1.0, 1.0), "hardsigmoid": (0.0, 1.0),
           "softplus": (0.0, math.inf)}  # fmt: skip
REGRESSION = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"})
LEADS_TO = ("not-learning", "underfitting", "learning-rate-too-low", "vanishing-gradient", "saturated-units", "nonfinite-loss", "misleading-metric")


@check(stage="train", severity="error", leads_to=LEADS_TO, interventions=("loss given what it takes",))
def loss_activation_mismatch(loss_call: list[Fact], *, train_loss: list[Series] | None = None, outside: float = 0.2) -> Iterator[Finding]:
    """The loss expects something else than what the last layer gives.

    What it means
    -------------
    Losses that apply the softmax or sigmoid themselves are given probabilities, or losses that expect (log-)probabilities are given scores,
    or the last activation cannot reach the targets at all.
    Why it is bad
    -------------
    The gradient is squeezed and the loss cannot fall under a floor: with probabilities over 10 classes cross-entropy stays above 1.46.
    Evidence
    --------
    The operation that made the prediction (through reshaping only), the function that it goes into, and the range of both. log_softmax
    before cross_entropy is silent: it changes nothing. A bounded activation before a regression loss is found where more than a fifth of the
    targets lie out of its reach. A softmax over a single column is 1, and a cross-entropy over one is 0, whatever comes before.
    Remedy
    ------
    Leave the activation out (and apply it where probabilities are read), or take the loss that expects it.
    Fault
    -----
        import torch

        torch.manual_seed(0)
        x = torch.randn(120, 4)
        y = (x[:, 0] > 0).long()
        net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2), torch.nn.Softmax(dim=1))  # sabueso: loss-activation-mismatch
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(20):
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            opt.step()
    Control
    -------
        import torch

        torch.manual_seed(0)
        x = torch.randn(120, 4)
        y = (x[:, 0] > 0).long()
        net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(20):
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            opt.step()
    References
    ----------
    PyTorch documentation of CrossEntropyLoss ("unnormalized logits"), BCEWithLogitsLoss, NLLLoss, KLDivLoss; Keras `from_logits`.
    """
    seen = set()
    for fact in loss_call:
        if not fact["in_loss"]:
            continue
        maker = next((p for p in fact["producers"] if p["op"] not in TRANSPARENT), None)
        if fact["function"] == "nll_loss" and maker is not None and maker["op"] == "log_softmax":
            fact, maker = as_scores(fact)
        found = mismatch(fact, maker, outside)
        key = (fact.place.file, fact.place.line, fact["function"])
        if found is None or key in seen:
            continue
        seen.add(key)
        says, evidence, remedy = found
        flat = constant(fact["function"], fact["prediction"]["shape"], maker) is not None  # no gradient but zero
        yield Finding(says=says, place=place_of(fact, maker), evidence=[*evidence, *lowest(train_loss, fact)], remedy=remedy, confidence=0.95, verified="fact",
                      covers=("graph-broken", "metric-inputs") if flat else (), edit=left_out(maker) if remedy.startswith("leave the") else ())  # fmt: skip


def left_out(maker: dict[str, Any]) -> tuple[str, str]:
    """The activation taken out of what is built, or of what is reckoned."""
    own = str(maker.get("class") or "")
    return ("without", own) if own.lower().startswith(maker["op"]) else ("unwrap", maker["op"])


def as_scores(fact: Fact) -> tuple[Fact, dict[str, Any] | None]:
    """nll_loss of a log_softmax is cross_entropy of what that was given."""
    makers = [p for p in fact["producers"] if p["op"] not in TRANSPARENT][1:]
    value = {**fact.value, "function": "cross_entropy", "prediction": {"shape": fact["prediction"]["shape"], "low": 0.0, "high": 1.0}}
    return Fact(fact.name, value, fact.place, fact.order, fact.process), makers[0] if makers else None


def mismatch(fact: Fact, maker: dict[str, Any] | None, outside: float) -> tuple[str, list[tuple[str, Any, Any]], str] | None:
    """What is wrong with a loss call, the numbers, the remedy; None where nothing is."""
    function, given, target = fact["function"], fact["prediction"], fact["target"]
    op = maker["op"] if maker else None
    where = f"`{maker['module']}`" if maker and maker.get("module") else "the prediction"
    columns = given["shape"][1] if len(given["shape"]) > 1 else 1
    ranged = (f"range of the prediction given to {function}", f"{given.get('low', math.nan):.4g} to {given.get('high', math.nan):.4g}", "any real numbers")
    if "categorical" not in function and (same := constant(function, given["shape"], maker)) is not None:
        return same[0], [("columns of the prediction", 1, "one for each class, at least 2")], f"{same[1]}, or a last layer with one output a class"
    if function in ("cross_entropy", "binary_cross_entropy_with_logits") or fact.get("from_logits"):
        if op in ("softmax", "sigmoid") or (op == "tanh" and function == "cross_entropy"):
            floor = least_loss(op, columns, function)
            return (f"{where} ends in {op}, and {function} applies its own {'sigmoid' if 'binary' in function else 'softmax'} once more",
                    [ranged, ("lowest value that the loss can take", round(floor, 3), 0.0)],
                    f"leave the {op} out of the model and apply it only where probabilities are read")  # fmt: skip
    scores = op == "relu" or given.get("low", 0.0) < -1e-3 or given.get("outside_one", 0.0) > 0.01
    if fact.get("from_logits") is False and op not in ("softmax", "sigmoid") and scores:
        instead = "a softmax (sigmoid) as the last activation"
        return (f"{where} gives scores, but {function} expects probabilities (from_logits=False)",
                [(f"range of the prediction given to {function}", f"{given['low']:.4g} to {given['high']:.4g}", "0 to 1, by a softmax or sigmoid")],
                f"{instead} in place of the relu" if op == "relu" else f"from_logits=True in the loss, or {instead}")  # fmt: skip
    if function in ("nll_loss", "kl_div") and op in ("softmax", "sigmoid"):
        return (f"{function} expects log-probabilities, {where} gives probabilities", [ranged[:2] + ("log-probabilities, 0 or less",)],
                "log_softmax in place of softmax")  # fmt: skip
    if function == "nll_loss" and op in ("linear", "addmm", "relu", "matmul") and given.get("high", 0.0) > 1e-3:
        return (f"nll_loss expects log-probabilities, {where} gives scores", [ranged[:2] + ("log-probabilities, 0 or less",)],
                "cross_entropy in place of nll_loss, or log_softmax before it")  # fmt: skip
    if function in REGRESSION and op in BOUNDED and not target["grad"]:
        low, high = BOUNDED[op]
        share = out_of_reach(target, low, high)
        if share > outside:
            return (f"{where} ends in {op}, which cannot reach the targets",
                    [("range of the targets", f"{target['low']:.4g} to {target['high']:.4g}", f"{low:g} to {high:g}"),
                    ("share of targets out of reach", round(share, 3), 0.0)], f"leave the {op} out, or scale the targets to its range")  # fmt: skip
    return None


def place_of(fact: Fact, maker: dict[str, Any] | None) -> Place:
    """Where the activation was put in (the line that built its module, or that called it), else the loss."""
    own, called = maker if maker and maker.get("class", "").lower().startswith(maker["op"]) else {}, [fact.place.file, fact.place.line]
    if maker and maker.get("size") == 1:  # the layer itself is at fault, and not what the loss was told
        line = maker["line"] if maker.get("line") not in (None, called) else maker.get("built") or called
        return Place(stage="train", file=line[0], line=line[1], step=fact.place.step, module=maker.get("module"))
    line = fact.get("built") or own.get("built") or (maker or {}).get("line") or called
    return Place(stage="train", file=line[0], line=line[1], step=fact.place.step, module=maker.get("module") if maker else None)
