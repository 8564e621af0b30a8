"""Units and weights as they begin: scales, units that are alike, dead or saturated, layers with nothing between that bends."""

from __future__ import annotations

import math
from typing import Any

from ..places import Place
from .answers import Answer, fault
from .contract import Pass
from .subject import Subject

SATURATED = 0.99  # of the range of tanh or sigmoid
RECTIFIERS = ("relu", "relu6", "relu_", "ReLU")


def start_fits(subject: Subject) -> Answer:
    """The loss before any step against what knowing only the labels would give."""
    question = "the loss at the start is near that of the best constant answer"
    held: Pass | None = subject.memory.get("pass")
    base = constant_loss(subject)
    subject.memory["base"] = base
    if held is None or base is None:
        return Answer(question, None, "the best constant answer of this loss is not known")
    numbers = [("loss at the start", held.loss, f"about {base:.4g}"), ("loss of the best constant answer", base, "")]
    near = held.loss <= 3 * base + 0.5 * abs(base) + 1e-9
    return Answer(question, near or None, f"{held.loss:.4g} against {base:.4g}", numbers)


def constant_loss(subject: Subject) -> float | None:
    """What the best answer that looks at no input would lose, by the distribution of the targets."""
    kind, factor, target, torch = subject.memory.get("kind"), subject.memory.get("factor"), subject.target, subject.torch
    if kind is None or factor is None or factor <= 0 or not torch.is_tensor(target):
        return None
    if kind in ("cross_entropy", "nll_loss") and not target.is_floating_point():
        held = target[target >= 0]
        share = torch.bincount(held.reshape(-1)).float() / max(held.numel(), 1)
        return factor * float(-(share[share > 0] * share[share > 0].log()).sum())
    if kind.startswith("binary") and target.is_floating_point():
        p = target.float().reshape(len(target), -1).mean(0).clamp(1e-6, 1 - 1e-6)
        return factor * float(-(p * p.log() + (1 - p) * (1 - p).log()).mean())
    if kind == "mse_loss":
        return factor * float(target.float().var(0, unbiased=False).mean())
    return None


def units_differ(subject: Subject) -> Answer:
    """Units of a layer that begin equal learn the same for ever: still equal after a few steps?"""
    question = "the units of a layer differ"
    if "pass" not in subject.memory:
        return Answer(question, None, "no forward pass to look at")
    part = subject.fresh()
    if not any(p.requires_grad for p in part.model.parameters()):
        return Answer(question, None, "nothing is trained")
    begin = {n for n, p in part.model.named_parameters() if alike(p)}
    if not begin:
        return Answer(question, True, "they do", [("layers whose units begin equal", 0, 0)])
    try:
        subject.train(part, subject.adam(part, 1e-2), 4)
    except Exception:
        return Answer(question, None, "no training step")
    still = [n for n, p in part.model.named_parameters() if n in begin and p.requires_grad and alike(p)]
    still = [n for n in still if n != list(begin)[-1] or len(begin) == 1] if len(still) > 1 else still
    numbers = [("layers whose units begin equal", len(begin), 0), ("of them still equal after 4 steps", len(still), 0)]
    if not still:
        return Answer(question, True, "they do after the first steps", numbers)
    owner = still[0].rpartition(".")[0]
    found = fault(
        "symmetric-init",
        f"all units of {owner} began equal and stay so: they count as one",
        numbers,
        f"draw the weights of `{owner}` at random",
        Place(module=owner or None, tensor=still[0]),
        confidence=0.95,
        verified={"how": "four steps on a copy", "before": len(begin), "after": len(still)},
    )
    return Answer(question, False, found.says, numbers, [found])


def alike(p: Any) -> bool:
    """Are all units of a weight (its first axis) equal?"""
    return p.dim() >= 2 and p.shape[0] > 1 and p[0].numel() > 1 and bool((p.detach() == p.detach()[:1]).all())


def units_alive(subject: Subject) -> Answer:
    """Rectifiers that pass something, sigmoids that are not at their ends, for some rows of the batch."""
    question = "units answer to the batch"
    held: Pass | None = subject.memory.get("pass")
    if held is None:
        return Answer(question, None, "no forward pass to look at")
    worst, findings = 0.0, []
    for op in held.tape:
        out, name = op.output, op.name.lower().rstrip("_")
        if out is held.output or not out.is_floating_point() or out.dim() < 2 or out.shape[0] < 2:
            continue
        if name in RECTIFIERS:
            share = float((out.detach() == 0).reshape(len(out), -1).all(0).float().mean())
            worst = max(worst, share)
            if share > 0.9:
                findings.append(
                    fault(
                        "dead-units",
                        f"{100 * share:.0f} % of the units behind {op.place.module or name} are zero for every row",
                        [("share of units that are zero for all rows", share, "below 0.5")],
                        "bring weights and biases before it to their usual scale",
                        op.place,
                        confidence=0.9,
                    )
                )
        elif name in ("tanh", "sigmoid"):
            share = float(((out.detach() > SATURATED) | (out.detach() < (-SATURATED if name == "tanh" else 1 - SATURATED))).float().mean())
            worst = max(worst, share)
            if share > 0.8:
                findings.append(saturated(subject, op, share))
    numbers = [("largest share of dead or saturated units in a layer", worst, "below 0.5")]
    return Answer(question, not findings, findings[0].says if findings else "they do", numbers, findings[:1])


def saturated(subject: Subject, op: Any, share: float) -> Any:
    """Is it the scale of the input, or that of the weights?"""
    given = subject.first_input
    scale = float(given.float().std()) if given is not None and given.is_floating_point() else 1.0
    level = float(given.float().abs().mean()) if given is not None and given.is_floating_point() else 1.0
    numbers = [(f"share of values of {op.name} at the ends of its range", share, "below 0.5"), ("standard deviation of the input", scale, "about 1")]
    if max(scale, level) > 10:
        return fault(
            "unscaled-input",
            f"the input has a scale of {max(scale, level):.3g}, which drives {op.name} to the ends of its range",
            numbers,
            "standardise the input",
            op.place,
            stage="preprocess",
            confidence=0.9,
        )
    return fault(
        "saturated-units",
        f"{100 * share:.0f} % of the values of {op.name} lie at the ends of its range",
        numbers,
        "use smaller initial weights before it",
        op.place,
        confidence=0.9,
    )


def weights_scaled(subject: Subject) -> Answer:
    """Weight matrices against the spread that keeps a signal's size, 1/sqrt(inputs), wherever initialisers agree within a factor of a few."""
    question = "initial weights have a usual scale"
    held: Pass | None = subject.memory.get("pass")
    rates = {}
    for name, p in subject.pristine[0].named_parameters():
        if p.dim() >= 2 and p.is_floating_point() and p.requires_grad and "embed" not in name.lower() and "pos" not in name.lower() and p[0].numel() > 1:
            rates[name] = float(p.detach().float().std()) * math.sqrt(p[0].numel())
    large = {n: r for n, r in rates.items() if r > 15}
    small = {n: r for n, r in rates.items() if 0 < r < 0.02}
    subject.memory["small"] = small
    base, numbers = (
        subject.memory.get("base"),
        [("largest spread of a weight times the root of its inputs", max(rates.values(), default=0.0), "about 0.6 to 2")],
    )
    far = held is not None and base is not None and held.loss > 5 * base
    if large and far:
        name = max(large, key=lambda n: large[n])
        numbers += [("loss at the start", held.loss, f"about {base:.4g}")] if held else []
        found = fault(
            "bad-init",
            f"{name} begins {large[name]:.0f} times as large as a usual initialiser makes it",
            numbers,
            f"use the layer's own initialiser for `{name}`",
            Place(module=name.rpartition(".")[0] or None, tensor=name),
            confidence=0.9,
        )
        return Answer(question, False, found.says, numbers, [found])
    return Answer(question, True if not large else None, "they do" if not large else "large ones, to no harm at the start", numbers)


def layers_bend(subject: Subject) -> Answer:
    """Two weight layers, one upon the other, that together are a linear map: the second is for nothing, unless it narrows."""
    question = "something bends between weight layers"
    held: Pass | None = subject.memory.get("pass")
    if held is None:
        return Answer(question, None, "no forward pass to look at")
    made: dict[int, Any] = {}
    for op in held.tape:
        weights = [t for t in op.inputs[1:2] if t.dim() == 2 and op.name == "linear"]
        before = made.get(id(op.inputs[0])) if op.inputs else None
        if weights and before is not None:
            inner, outer = before, weights[0]
            if min(inner.shape) >= min(outer.shape[0], inner.shape[1]) and inner.shape[0] > 1 and inner.requires_grad and outer.requires_grad:
                numbers = [
                    ("linear layers in a row with nothing between", 2, "a nonlinearity between"),
                    ("inputs, hidden and outputs", [inner.shape[1], inner.shape[0], outer.shape[0]], "hidden below both, where it is meant to narrow"),
                ]
                found = fault(
                    "no-activation",
                    f"{op.place.module or 'a layer'} follows another linear layer directly: the two count as one",
                    numbers,
                    "put an activation (ReLU, GELU) between them",
                    op.place,
                    severity="warning",
                    confidence=0.85,
                    verified="fact",
                )
                return Answer(question, False, found.says, numbers, [found])
        if weights:
            made[id(op.output)] = weights[0]
        elif before is not None and op.name in ("dropout", "view", "reshape", "flatten", "contiguous", "squeeze"):
            made[id(op.output)] = before
    return Answer(question, True, "it does", [("linear layers in a row with nothing between", 0, 0)])
