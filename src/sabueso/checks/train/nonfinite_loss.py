"""nonfinite-loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...catalogue import check
from ...events import Fact
from ...findings import Finding

GROWN = 1e12  # operands beyond this have run away in earlier steps: float32 ends at 3e38, healthy activations stay under 1e6
GUARDS = (("wrap", "sqrt", "{} + 1e-8"), ("wrap", "log", "{}.clamp(min=1e-7)"))  # what keeps an argument off the edge, as an edit


@check(
    stage="train", severity="error", leads_to=("not-learning", "dead-units", "exploding-gradient", "misleading-metric", "missing-step"),
    interventions=("argument kept off the edge", "gradients clipped", "learning rate / 10"),
)  # fmt: skip
def nonfinite_loss(nonfinite_step: list[Fact]) -> Iterator[Finding]:
    """An operation turned finite numbers into NaN or infinity, and the parameters with them.

    What it means
    -------------
    The logarithm of 0, a division by 0, the slope of a square root at 0, an exponential that overflows, a half float beyond 65504: from
    there on NaN spreads to every parameter within one step.
    Why it is bad
    -------------
    NaN never goes away again; all later steps are lost.
    Evidence
    --------
    The step is run again with every operation watched: the first one with finite operands and a non-finite result that reaches the loss
    or a gradient is named, with its operands' ranges and the elements concerned. No threshold. A masked score of minus infinity that a
    softmax cleans is not accused, nor a step that a gradient scaler leaves out.
    Remedy
    ------
    Keep the operand away from the point where the operation breaks: a clamp, an epsilon under the root, a loss on logits.
    Fault
    -----
        import torch

        torch.manual_seed(0)
        a, b = torch.rand(8, 4), torch.rand(8, 4)
        b[3] = a[3]
        net = torch.nn.Linear(4, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            distance = (net(a) - net(b)).pow(2).sum(1).sqrt()  # sabueso: nonfinite-loss
            loss = (distance - 1).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    Control
    -------
        import torch

        torch.manual_seed(0)
        a, b = torch.rand(8, 4), torch.rand(8, 4)
        b[3] = a[3]
        net = torch.nn.Linear(4, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            distance = ((net(a) - net(b)).pow(2).sum(1) + 1e-8).sqrt()
            loss = (distance - 1).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    References
    ----------
    tfdbg's filter has_inf_or_nan; torch.autograd.detect_anomaly names the line of a backward step only.
    """
    for fact in nonfinite_step[:1]:
        births = fact["births"]
        if births and births[0]["how"] == "given":
            return  # what came in was not finite already: nonfinite-values says where
        if births:
            yield told(fact, births[0])
        elif not fact.get("given"):
            yield untold(fact)


def told(fact: Fact, birth: dict[str, Any]) -> Finding:
    """The operation, its operands and the rows concerned."""
    operands = [o for o in birth["inputs"] if "min" in o]
    spot, name = birth.get("spot") or {}, birth["op"]
    forward = (birth.get("node") or "").removesuffix("0").removesuffix("Backward")
    what = f"the backward pass of {forward.lower()}" if birth["backward"] and forward else name
    where = f" in {birth['module']}" if birth.get("module") else ""
    kind = "NaN" if birth["nan"] else "infinity"
    ranges = "; ".join(f"{shape(o)} from {o['min']:.4g} to {o['max']:.4g}" for o in operands[:2])
    says = f"{what}{where} makes {kind} of finite numbers ({ranges}): {birth['bad']} of {birth['of']} elements"
    if spot.get("rows"):
        says += f", row {', '.join(map(str, spot['rows'][:3]))} of {spot.get('table') or spot.get('array') or 'the data'}"
    grown = any(max(abs(o["min"]), abs(o["max"])) > GROWN for o in operands)
    evidence: list[tuple[str, Any, Any]] = [(f"non-finite elements of {what}", birth["bad"], 0)]
    evidence += [(f"operand {k + 1} {shape(o)}", [o["min"], o["max"]], None) for k, o in enumerate(operands[:2])]
    evidence.append((f"the {fact['kind']} of step {fact['place_step'] if 'place_step' in fact.value else fact.place.step}", "non-finite", "finite"))
    rows = spot.get("rows")
    place = fact.place.but(
        file=birth.get("file") or fact.place.file, line=birth.get("line") or fact.place.line, module=birth.get("module"),
        tensor=spot.get("array") or next(iter(birth.get("names") or []), None), row=rows[0] if rows and len(rows) == 1 else rows,
        column=spot.get("column"),
    )  # fmt: skip
    return Finding(says, place, evidence, remedy(birth, grown), "", 0.6 if grown else 0.93, proof(fact),
                   edit=next((e for e in GUARDS if e[1] in (name, forward.lower()) and not grown), ()))  # fmt: skip


def untold(fact: Fact) -> Finding:
    """The step could not be taken apart: what is known is that it went wrong."""
    says = f"the {fact['kind']} of this step is not finite and the parameters with it; the step could not be run again ({fact.get('why')})"
    evidence = [(f"the {fact['kind']}", fact.get("value") or "non-finite", "finite")]
    return Finding(says, fact.place, evidence, "look at the operations of this step with torch.autograd.detect_anomaly()", confidence=0.5)


def shape(operand: dict[str, Any]) -> str:
    return "(" + ", ".join(map(str, operand["shape"])) + ")"


def proof(fact: Fact) -> dict[str, Any] | None:
    """What the replay showed."""
    if not fact.get("ran"):
        return None
    run = "the step run again" + (", not compiled," if fact.get("compiled") else "")
    how = f"{run} with every operation watched, " + ("equal to the original to the last bit" if fact["equal"] else "not bit-equal")
    return {"how": how, "before": f"{fact['kind']} non-finite", "after": f"first non-finite operation {fact['births'][0]['op']}"}


def remedy(birth: dict[str, Any], grown: bool) -> str:
    """What keeps the operand away from where the operation breaks."""
    name = f"{birth['op']} {birth.get('node') or ''}".lower()
    text = f" (now: {birth['text'][:100]})" if birth.get("text") else ""
    if grown:
        return "the numbers ran away in the steps before: lower the learning rate, clip gradients, look at the largest rows of the data"
    if "log" in name:
        return f"keep the argument of the logarithm above 0: a loss on logits (BCEWithLogitsLoss, log_softmax), or clamp(min=1e-7){text}"
    if "sqrt" in name or "pow" in name or "norm" in name or "cdist" in name:
        return f"add a small number under the root, as in (x + 1e-8).sqrt(): its slope at 0 is infinite{text}"
    if "softmax" in name:
        return f"leave at least one score of each row unmasked{text}"
    if "exp" in name:
        return f"subtract the largest exponent first (logsumexp, softplus) or clamp it{text}"
    if "copy" in name or "to" in name.split("_"):
        return f"keep this computation in float32 or bfloat16: float16 ends at 65504{text}"
    if "div" in name:
        return f"keep the divisor away from 0: clamp(min=1e-8) or add an epsilon{text}"
    return f"keep its operands within the range where it is finite{text}"
