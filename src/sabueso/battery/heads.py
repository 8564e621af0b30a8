"""Which loss is it by its values, and are output and target what it takes?"""

from __future__ import annotations

import math
from typing import Any

from ..findings import Finding
from ..places import NOWHERE, Place
from .answers import Answer, fault
from .contract import Pass
from .subject import Subject

ALIKE = 1e-3  # relative difference up to which two losses are the same function


def loss_fits(subject: Subject) -> Answer:
    """Which loss is it by its values, and is it given what it takes?"""
    question = "output, loss and target belong together"
    held: Pass | None = subject.memory.get("pass")
    if held is None or held.output is None or subject.target is None or not subject.torch.is_tensor(subject.target):
        return Answer(question, None, "no single output and target to compare")
    kind, factor = kind_of(subject, held)
    subject.memory["kind"], subject.memory["factor"] = kind, factor
    findings = [f for rule in (broadcast, blind_to_target, wrong_factor, wrong_head, wrong_size) for f in rule(subject, held, kind, factor)]
    numbers = (
        [("loss by its values", kind or "unknown", "known"), ("factor", factor, 1)]
        if kind
        else [("shapes", [list(held.output.shape), list(subject.target.shape)], "as the loss asks")]
    )
    says = findings[0].says if findings else f"it behaves as {kind}" if kind else "a loss of its own kind"
    return Answer(question, not findings, says, numbers, findings)


def candidates(torch: Any) -> dict[str, Any]:
    """Losses as functions of output and target."""
    f = torch.nn.functional
    return {
        "cross_entropy": f.cross_entropy,
        "nll_loss": f.nll_loss,
        "binary_cross_entropy_with_logits": f.binary_cross_entropy_with_logits,
        "binary_cross_entropy": f.binary_cross_entropy,
        "mse_loss": f.mse_loss,
        "l1_loss": f.l1_loss,
        "smooth_l1_loss": f.smooth_l1_loss,
        "kl_div": f.kl_div,
    }


def kind_of(subject: Subject, held: Pass) -> tuple[str | None, float | None]:
    """(name, factor): the function of which the loss is a constant multiple, at the output as it is and at another one."""
    torch, output, target = subject.torch, held.output.detach(), subject.target
    name = getattr(subject.given.loss, "__name__", None) or camel(type(subject.given.loss).__name__)
    known, points = candidates(torch), [output, 0.7 * output + 0.3 * output.roll(1, 0)]
    named = name if name in known and not getattr(subject.given.loss, "weight", None) is not None else None
    for kind in [*([named] if named else []), *(k for k in known if k != named)]:
        far = [] if kind == "binary_cross_entropy" else [3 * output.roll(1, 0) + 1]  # near zero many losses look alike
        ratios = [ratio(subject, held, known[kind], p, target, torch) for p in [*points, *far]]
        if all(r is not None and math.isfinite(r) and r for r in ratios) and max(abs(ratios[0] - r) for r in ratios) <= ALIKE * abs(ratios[0]):
            return kind, float(f"{ratios[0]:.6g}")
    return named, 1.0 if named else None


def camel(name: str) -> str:
    """CrossEntropyLoss -> cross_entropy, as the functions are called."""
    return {
        "CrossEntropyLoss": "cross_entropy",
        "NLLLoss": "nll_loss",
        "BCELoss": "binary_cross_entropy",
        "MSELoss": "mse_loss",
        "L1Loss": "l1_loss",
        "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
        "SmoothL1Loss": "smooth_l1_loss",
        "KLDivLoss": "kl_div",
    }.get(name, name)


def ratio(subject: Subject, held: Pass, function: Any, output: Any, target: Any, torch: Any) -> float | None:
    """The loss over what the function gives."""
    try:
        with torch.no_grad():
            mine, other = float(subject.loss_of(held.part, output)), float(function(output, target))
    except Exception:
        return None
    return mine / other if other else None


def broadcast(subject: Subject, held: Pass, kind: str | None, factor: float | None) -> list[Finding]:
    """Output and target have the same number of values in different shapes, and the loss compares each with all."""
    output, target = held.output.detach(), subject.target
    if output.shape == target.shape or output.numel() != target.numel() or not target.is_floating_point() or output.numel() < 2:
        return []
    try:
        with subject.torch.no_grad():
            given, mended = (float(subject.loss_of(held.part, output, t)) for t in (target, target.reshape(output.shape)))
    except Exception:
        return []
    if abs(given - mended) <= ALIKE * max(abs(given), abs(mended), 1e-12):
        return []
    shapes = [list(output.shape), list(target.shape)]
    return [
        fault(
            "loss-broadcast",
            f"an output of shape {shapes[0]} and a target of {shapes[1]} are broadcast: each output is compared with every target",
            [("shapes of output and target", shapes, "equal"), ("loss", given, round(mended, 6))],
            f"reshape the target to {shapes[0]}, or squeeze the output",
            last_spot(held),
            confidence=0.97,
            verified={"how": "the same output with the target in the output's shape", "before": given, "after": mended},
        )
    ]


def blind_to_target(subject: Subject, held: Pass, kind: str | None, factor: float | None) -> list[Finding]:
    """The same loss whatever the target."""
    torch, target = subject.torch, subject.target
    turned = target.flip(0) if target.dim() else target
    if kind is not None or torch.equal(turned, target):
        return []
    with torch.no_grad():
        one, two = (float(subject.loss_of(held.part, held.whole, t)) for t in (target, turned))
    if one != two:
        return []
    numbers = [("loss with the target", one, "another"), ("loss with another row's target", two, "another")]
    proof = {"how": "targets of other rows", "before": one, "after": two}
    return [
        fault("wrong-loss", "the loss is the same whatever the target", numbers, "compute the loss from output and target", last_spot(held), verified=proof)
    ]


def wrong_factor(subject: Subject, held: Pass, kind: str | None, factor: float | None) -> list[Finding]:
    """A known loss with its sign turned, or times a factor that no rate was made for."""
    if kind is None or factor is None:
        return []
    numbers = [(f"loss over {kind}", factor, 1)]
    if factor < 0:
        says = f"the loss is {kind} with its sign turned: training makes the answer worse"
        return [fault("wrong-loss", says, numbers, "turn the sign of the loss", last_spot(held), confidence=0.97, verified="fact")]
    if factor < 1e-5 or factor > 1e5 * max(1, subject.target.numel()):
        says = f"the loss is {kind} times {factor:.3g}: its gradients are too {'small' if factor < 1 else 'large'} for a usual rate"
        return [fault("wrong-loss", says, numbers, "leave the factor out, or set the learning rate to match", last_spot(held), "warning")]
    return []


def wrong_head(subject: Subject, held: Pass, kind: str | None, factor: float | None) -> list[Finding]:
    """What the last operation made against what the loss takes."""
    output, spot = held.output.detach().float(), last_spot(held)
    wide = output.dim() > 1 and output.shape[1] > 1
    inside = bool((output >= 0).all() and (output <= 1).all())
    low, high, zeros = float(output.min()), float(output.max()), float((output == 0).float().mean())
    if kind == "cross_entropy" and not wide and not subject.target.is_floating_point():
        numbers: list[Any] = [("classes in the output", 1, "2 or more")]
        remedy = "use binary_cross_entropy_with_logits with one output, or two outputs"
        return [mismatch("cross-entropy over a single class: its loss and gradient are zero whatever the output", numbers, remedy, spot)]
    if kind == "cross_entropy" and wide and inside and float((output.sum(1) - 1).abs().max()) < 1e-3:
        numbers = [("sums of the output over the classes", 1.0, "any")]
        return [mismatch("cross_entropy takes logits and is given the answer of a softmax", numbers, "return the logits: leave the softmax out", spot)]
    if kind == "cross_entropy" and wide and zeros > 0.2 and low >= 0 and bends(held, "relu"):
        numbers = [("share of outputs that are exactly 0", zeros, 0)]
        remedy = "leave the activation behind the last layer out"
        return [mismatch("cross_entropy takes logits of either sign and is given those of a rectifier", numbers, remedy, spot)]
    if kind == "nll_loss" and wide and float(output.exp().sum(1).log().abs().max()) > 0.01:
        numbers = [("largest sum of exp(output) over the classes", float(output.exp().sum(1).max()), 1)]
        remedy = "use cross_entropy, or end the model with log_softmax"
        return [mismatch("nll_loss takes logarithms of probabilities, and the output has none", numbers, remedy, spot)]
    if kind == "binary_cross_entropy_with_logits" and inside and bends(held, "sigmoid", "softmax"):
        numbers = [("range of the output", [low, high], "both signs")]
        remedy = "return the logits: leave the sigmoid out, or use binary_cross_entropy"
        return [mismatch("binary_cross_entropy_with_logits takes logits and is given the answer of a sigmoid", numbers, remedy, spot)]
    if kind in ("mse_loss", "l1_loss", "smooth_l1_loss") and subject.target.is_floating_point() and output.shape == subject.target.shape:
        return out_of_reach(subject, held, spot)
    if kind == "kl_div" and high > 0:
        numbers = [("largest output", high, "0 or less")]
        return [mismatch("kl_div takes logarithms of probabilities as its first argument", numbers, "give it log_softmax of the logits", spot)]
    return []


def out_of_reach(subject: Subject, held: Pass, spot: Place) -> list[Finding]:
    """Targets that the last activation can't make."""
    target = subject.target
    low, high = next(
        ((a, b) for names, a, b in ((("sigmoid", "softmax"), 0, 1), (("tanh",), -1, 1), (("relu",), 0, math.inf)) if bends(held, *names)), (-math.inf, math.inf)
    )
    beyond = float(((target < low - 1e-6) | (target > high + 1e-6)).float().mean())
    if beyond < 0.05:
        return []
    return [
        mismatch(
            f"the last activation answers from {low} to {high}, and targets lie outside",
            [("share of targets out of reach", beyond, 0), ("range of targets", [float(target.min()), float(target.max())], [low, high])],
            "leave the last activation out, or scale the targets into its range",
            spot,
        )
    ]


def wrong_size(subject: Subject, held: Pass, kind: str | None, factor: float | None) -> list[Finding]:
    """Negative or missing classes."""
    target, output = subject.target, held.output
    if kind == "binary_cross_entropy_with_logits" and bool(((target < 0) | (target > 1)).any()):
        return [
            fault(
                "label-out-of-range",
                "targets of a binary cross-entropy outside of 0 to 1",
                [("range of targets", [float(target.min()), float(target.max())], [0, 1])],
                "code the labels 0 and 1",
                last_spot(held),
            )
        ]
    if (
        kind == "cross_entropy"
        and not target.is_floating_point()
        and output.dim() > 1
        and target.dtype.is_floating_point is False
        and int(target.max()) >= output.shape[1]
    ):
        return [
            fault(
                "label-out-of-range",
                "a label as large as the number of classes",
                [("largest label", int(target.max()), output.shape[1] - 1)],
                "number labels from 0",
                last_spot(held),
            )
        ]
    return []


def mismatch(says: str, numbers: list[Any], remedy: str, place: Place) -> Finding:
    return fault("loss-activation-mismatch", says, numbers, remedy, place, confidence=0.95, verified="fact")


def bends(held: Pass, *names: str) -> bool:
    """Was the output made by one of these activations? Views and casts behind it are looked through."""
    sought = held.output
    for op in reversed(held.tape.operations):
        if any(t is sought or t.data_ptr() == sought.data_ptr() and t.numel() == sought.numel() for t in op.outputs):
            if any(op.name.lower().strip("_").endswith(n) for n in names):
                return True
            if op.name not in ("squeeze", "view", "reshape", "flatten", "unsqueeze", "float", "contiguous", "permute", "transpose") or not op.inputs:
                return False
            sought = op.inputs[0]
    return False


def last_spot(held: Pass) -> Place:
    """Where the output was made."""
    for op in reversed(held.tape.operations):
        if any(t is held.output for t in op.outputs):
            return op.place
    return NOWHERE
