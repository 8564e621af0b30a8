"""Does it run? If not, what of the data or the model makes it fail."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..capture.origin import user_frame
from ..findings import Finding
from ..places import NOWHERE, Place
from .answers import Answer, fault
from .subject import Copy, Subject, first
from .tape import Tape, taped, tensors


@dataclass(slots=True)
class Pass:
    """The first pass forward and back of a fresh copy in training mode."""

    part: Copy
    tape: Tape
    output: Any  # the first tensor
    whole: Any
    loss: float


def it_runs(subject: Subject) -> Answer:
    """Forward, loss and backward, and all of it finite."""
    question = "forward, loss and backward run, and are finite"
    torch, part = subject.torch, subject.fresh()
    part.model.train()
    bad = [t for t in tensors((subject.inputs, subject.target), torch) if t.is_floating_point() and not bool(torch.isfinite(t).all())]
    if bad:
        row = int((~torch.isfinite(bad[0])).nonzero()[0][0]) if bad[0].dim() else 0
        count = int((~torch.isfinite(bad[0])).sum())
        found = fault(
            "nonfinite-values",
            f"the batch holds {count} values that are not finite, the first in row {row}",
            [("values not finite", count, 0)],
            "mend or drop those rows before they are batched",
            Place(row=row),
            stage="preprocess",
        )
        return Answer(question, False, found.says, found.evidence, [found])
    untouched = subject.cloned(subject.inputs)
    try:
        with taped(part.model) as tape:
            whole = part.model(**untouched) if isinstance(untouched, dict) else part.model(*untouched)
            output = first(whole, torch)
            loss = subject.loss_of(part, whole)
    except Exception as error:
        found = crash(subject, error)
        return Answer(question, False, found.says, found.evidence, [found])
    subject.memory["pass"] = Pass(part, tape, output, whole, float(loss.detach()))
    written = [a for a, b in zip(tensors(untouched, torch), tensors(subject.inputs, torch)) if not torch.equal(a, b)]
    findings = [written_to(tape, untouched, torch)] if written and untouched is not None else []
    if not math.isfinite(float(loss.detach())):
        findings.append(not_finite(tape, float(loss.detach()), torch))
        return Answer(question, False, findings[-1].says, findings[-1].evidence, findings)
    try:
        loss.backward()
    except Exception as error:
        findings.append(no_backward(subject, tape, loss, error))
        return Answer(question, False, findings[-1].says, findings[-1].evidence, findings)
    return Answer(question, not findings, findings[0].says if findings else f"the loss is {float(loss):.4g}", [("loss", float(loss), "finite")], findings)


def crash(subject: Subject, error: Exception) -> Finding:
    """What an exception of the forward pass or the loss says, by the data that led to it."""
    torch, text, low = subject.torch, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", str(error).lower()
    place, given = raised_at(error), tensors((subject.inputs, subject.target), subject.torch)
    targets = [t for t in tensors(subject.target, torch) if not t.is_floating_point() and t.numel()]
    numbers: list[Any] = [("exception", text, "none")]
    if isinstance(error, IndexError) and targets and "out of bounds" in low or "index out of range" in low:
        numbers = [
            ("smallest and largest label", [int(min(t.min() for t in targets)), int(max(t.max() for t in targets))], "0 or more, below the number of classes")
        ]
        remedy = "give the model as many outputs as there are classes, and number labels from 0"
        return fault("label-out-of-range", f"a label or index lies outside of what the model has ({text})", numbers if targets else [], remedy, place)
    if "device" in low:
        return fault("device-fallback", f"model and batch lie on different devices ({text})", numbers, "move both to one device", place)
    if "dtype" in low or "scalar type" in low or "expected" in low and ("long" in low or "float" in low) and "type" in low:
        kinds = [str(t.dtype) for t in given] + [str(p.dtype) for p in list(subject.given.model.parameters())[:1]]
        numbers = [("dtypes of inputs, target and model", kinds, "as the loss and layers ask")]
        remedy = "convert the input to the model's dtype, class labels to int64, other targets to the output's dtype"
        return fault("dtype-changed", f"batch and model have dtypes that do not go together ({text})", numbers, remedy, place)
    if "between 0 and 1" in low:
        remedy = "use binary_cross_entropy_with_logits, or end the model with a sigmoid"
        return fault("loss-activation-mismatch", f"the loss takes probabilities, and the output lies outside of 0 to 1 ({text})", numbers, remedy, place)
    numbers = [("shapes of inputs and target", [list(t.shape) for t in given], "as the first layer and the loss ask")]
    return fault("shape-mismatch", f"it does not run: {text}", numbers, "make the shapes agree at that line", place)


def raised_at(error: Exception) -> Place:
    """The person's innermost line of a traceback."""
    trace, place = error.__traceback__, NOWHERE
    while trace is not None:
        if user_frame(trace.tb_frame) is trace.tb_frame:
            place = Place(file=trace.tb_frame.f_code.co_filename, line=trace.tb_lineno)
        trace = trace.tb_next
    return place


def written_to(tape: Tape, inputs: Any, torch: Any) -> Finding:
    """The model changed the batch that it was given."""
    own = {t.data_ptr() for t in tensors(inputs, torch)}
    spot = next((op for op in tape if (op.name.endswith("_") or op.name == "__setitem__") and any(t.data_ptr() in own for t in op.inputs)), None)
    return fault(
        "double-normalised",
        f"the forward pass writes into the batch that it is given ({spot.name if spot else 'in place'}): a second pass sees other values",
        [("inputs changed by one forward pass", 1, 0)],
        "work on a copy: use the operation without its trailing underscore",
        spot.place if spot else NOWHERE,
        severity="warning",
        stage="preprocess",
    )


def not_finite(tape: Tape, loss: float, torch: Any) -> Finding:
    """The first operation with finite inputs whose result is not finite."""
    for op in tape:
        wrong = [t for t in op.outputs if t.is_floating_point() and not bool(torch.isfinite(t).all())]
        if wrong and all(bool(torch.isfinite(t).all()) for t in op.inputs if t.is_floating_point()):
            count = int((~torch.isfinite(wrong[0])).sum())
            return fault(
                "nonfinite-loss",
                f"{op.name} makes values that are not finite of finite ones",
                [(f"values of {op.name} that are not finite", count, 0), ("loss", loss, "finite")],
                "keep its argument away from where it has no value (clamp, add a small constant, use the stable form)",
                op.place,
            )
    return fault("nonfinite-loss", "the loss is not finite", [("loss", loss, "finite")], "look at the loss function")


def no_backward(subject: Subject, tape: Tape, loss: Any, error: Exception) -> Finding:
    """The loss depends on no parameter, or its graph can't be gone through."""
    text = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    if not getattr(loss, "requires_grad", True):
        cut = next((op for op in reversed(tape.operations) if op.parameters and (op.cuts or not op.grad)), None)
        says = f"no gradient leads from the loss to any parameter: {cut.name} lets none through" if cut else "the loss depends on no parameter"
        return fault(
            "graph-broken",
            says,
            [("parameters that the loss depends on", 0, f"{sum(1 for _ in subject.given.model.parameters())}")],
            f"keep {cut.name if cut else 'the output'} out of the way from output to loss",
            cut.place if cut else NOWHERE,
            confidence=0.97,
            verified="fact",
        )
    return fault("graph-broken", f"the backward pass fails: {text}", [("exception", text, "none")], "do not change in place what the backward pass needs")
