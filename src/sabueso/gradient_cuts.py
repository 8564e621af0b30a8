"""Gradient cuts: how a path that no gradient comes back on is told: out of torch, a whole loss, a look-up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .events import Fact
from .findings import Finding
from .parameters import shared_module
from .places import Place


def left(found: list[tuple[Fact, dict[str, Any]]]) -> Finding:
    """Parameters whose work leaves torch."""
    fact, row = found[0]
    module = shared_module([r["path"] for _, r in found]) or fact["model"]
    file, line = row["left"]
    return Finding(
        says=f"what `{module}` gives leaves torch in line {line} (NumPy, a list, a single number): no gradient comes back",
        place=Place(stage="train", file=file, line=line, step=0, module=module),
        evidence=[
            (f"parameters of `{module}` that the optimizer holds and that no loss depends on", len(found), 0),
            ("sampled steps in which they were used and got no gradient", "all", 0),
        ],
        remedy=f"compute in torch what line {line} computes outside, so that the gradient can go back",
        confidence=0.93,
        verified="fact",
    )


def whole(cuts: list[Fact]) -> Iterator[Finding]:
    """A loss that depends on no parameter at all."""
    for fact in cuts:
        if not fact.get("whole"):
            continue
        made = f"after `{fact['operation']}`" if fact["operation"] else "made anew as a leaf"
        yield Finding(
            says=f"the loss is cut off from every parameter ({made}), so backward reaches none",
            place=Place(stage="train", file=fact.place.file, line=fact.place.line, step=fact.place.step, module=(fact["models"] or [None])[0]),
            evidence=[("parameters that the loss reaches", 0, "those of " + ", ".join(fact["models"][:3]))],
            remedy="compute the loss from the model's output with torch operations, without item(), numpy(), detach() or no_grad",
            confidence=0.9,
            verified="fact",
        )


def lookups(cuts: list[Fact]) -> Iterator[Finding]:
    """A nearest entry is looked up, and nothing carries the gradient past the look-up."""
    for fact in [f for f in cuts if f.get("lookup")][:1]:
        yield Finding(
            says=f"the look-up of the nearest entry (`{fact['operation']}`) lets no gradient through: what lies before it is not trained by the loss behind it",
            place=Place(stage="train", file=fact.place.file, line=fact.place.line, step=fact.place.step, module=fact.place.module),
            evidence=[
                ("paths by which a gradient of the output reaches what was looked up", 0, "at least 1"),
                ("sampled steps in which it was so", sum(bool(f.get("lookup")) for f in cuts), 0),
            ],  # fmt: skip
            remedy="pass the gradient straight through: `q = z + (q - z).detach()`",
            confidence=0.85,
            verified="fact",
        )


def kept_back(cuts: list[Fact], least: int = 2) -> Iterator[Finding]:
    """A function of the person's own whose backward gives nothing for an input."""
    found = [f for f in cuts if f.get("function")]
    if len(found) < least:
        return
    fact = found[0]
    module = shared_module(fact["parameters"]) or (fact["parameters"] or [""])[0].rpartition(".")[0] or None
    yield Finding(
        says=f"the backward of `{fact['function']}` returns None for a tensor that `{module or 'trained parameters'}` gives it: nothing of it is ever trained",
        place=Place(stage="train", file=fact.place.file, line=fact.place.line, step=fact.place.step, module=module),
        evidence=[(f"position of that tensor among those given to {fact['function']}", fact["position"], None),
                  ("parameters behind it that the optimizer holds and that got no gradient", fact["count"], 0),
                  ("sampled steps in which it was so", len(found), 0)],
        remedy=f"return its gradient in line {fact.place.line} (straight through: grad_out, masked where the value was clipped), in the place of that input",
        confidence=0.95, verified="fact",
    )  # fmt: skip


def draws(cuts: list[Fact], least: int = 2) -> Iterator[Finding]:
    """Numbers drawn from a learnt distribution go on into trained layers, and the draw lets no gradient back."""
    found = [f for f in cuts if f.get("draw")]
    if len(found) < least:
        return
    fact = found[0]
    yield Finding(
        says="the draw from a learnt normal distribution (`sample()`, torch.normal) lets no gradient through: the loss of the layers behind it does "
        f"not train {'`' + fact.place.module + '`' if fact.place.module else 'what its mean and spread are made of'}",
        place=Place(stage="train", file=fact.place.file, line=fact.place.line, step=fact.place.step, module=fact.place.module),
        evidence=[("paths by which a gradient comes back past the draw", 0, "at least 1"), ("sampled steps in which it was so", len(found), 0)],
        remedy="draw by `rsample()`, or `mean + std * torch.randn_like(std)` (Kingma and Welling 2014)",
        confidence=0.9,
        verified="fact",
    )


def starved(optimizer_use: list[Fact], evaluation: list[Fact], least: int = 4) -> Iterator[Finding]:
    """An optimizer that steps again and again beside others, and never had a gradient: its model is called where gradients are off."""
    for fact in optimizer_use:
        others = [f for f in optimizer_use if f is not fact and f.process == fact.process and f["moved"]]
        if not others or fact["moved"] or fact["reached"] or fact.get("scaler") or not least <= fact["looked"] == fact["empty"] or not fact["model"]:
            continue
        windows = [f["window"] for f in evaluation if f.process == fact.process and f["model"] == fact["model"] and f["why"] == "no_grad" and f["window"]]
        before = [w for w in windows if w[0] == fact.place.file and w[1] <= (fact.place.line or 0)]
        file, line = max(before, key=lambda w: w[1], default=None) or (fact.place.file, fact.place.line)
        name = fact["name"] or fact["class"]
        yield Finding(
            says=f"`{name}` steps, but no backward ever brought `{fact['model']}` a gradient"
            + (f": it is called under no_grad in line {line}" if before else ""),
            place=Place(stage="train", file=file, line=line, step=0, module=fact["model"]),
            evidence=[(f"sampled steps of {name} without any gradient", fact["empty"], f"0 of {fact['looked']}"), (f"steps of {name}", fact["steps"], None),
                      (f"did the parameters of `{fact['model']}` move", "no", "yes")],
            remedy=f"call `{fact['model']}` with gradients on where the loss of its own step is made" + (f" (line {line})" if before else ""),
            confidence=0.93, verified="fact",
        )  # fmt: skip


def flat(optimizer_use: list[Fact], least: int = 4) -> Iterator[Finding]:
    """Gradients that arrive in every step and are zero in each: what the loss is made of has no slope."""
    for fact in optimizer_use:
        if fact["moved"] or fact.get("brought", 1) or fact["reached"] < least or not least <= fact["looked"] == fact["empty"]:
            continue
        name = fact["model"] or fact["name"] or fact["class"]
        yield Finding(
            says=f"every gradient that reaches `{name}` is exactly zero: its parameters do not change the loss (argmax, round, a comparison, a factor 0)",
            place=Place(stage="train", file=fact.place.file, line=fact.place.line, step=0, module=fact["model"]),
            evidence=[("sampled backward calls that brought a gradient other than zero", 0, f"all {fact['reached']}"), ("steps", fact["steps"], None)],
            remedy="make the loss of the scores themselves (cross_entropy on logits), not of what was decided from them",
            confidence=0.93, verified="fact",
        )  # fmt: skip
