"""Training on copies: is one batch learnt, with the person's optimizer and with one of ours; what the result owes to the input; train against eval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..findings import Finding
from ..places import Place
from .answers import Answer, fault
from .contract import Pass
from .subject import Copy, Subject

STEPS = 60
RATES = (1e-2, 1e-3)
LEARNT = 0.5  # a loss below that part of where it began is learning; noise does not halve a loss on a fixed batch
NEAR_ZERO = 0.1
TINY, HUGE = 1e-7, 0.3  # change of a weight by its norm in one step; a healthy one is about 1e-3


@dataclass(slots=True)
class Tried:
    """A training on one batch: the losses, the copy as it ended, the change of the weights in its first step."""

    losses: list[float]
    part: Copy
    ratio: float
    rate: float

    @property
    def broke(self) -> bool:
        return not math.isfinite(self.losses[-1])

    def part_left(self, floor: float = 0.0) -> float:
        """The least loss of its end over the loss at the beginning."""
        tail = self.losses[-3:]
        return math.inf if self.broke else (min(tail) - floor) / max(self.losses[0] - floor, 1e-30)


def one_batch_learnt(subject: Subject) -> Answer:
    """Steps on one batch, on a copy: with the given optimizer, and with ours at two rates."""
    question = "one batch is learnt"
    held: Pass | None = subject.memory.get("pass")
    if held is None or not any(p.requires_grad for p in subject.pristine[0].parameters()):
        return Answer(question, None, "there is nothing to train")
    try:
        own = tried(subject, None) if subject.given.optimizer is not None else None
        ours = [own] if own is not None and own.part_left() < NEAR_ZERO else []
        for rate in RATES:
            if not ours or min(t.part_left() for t in ours) > NEAR_ZERO and subject.left() > 0.4 * subject.seconds:
                ours.append(tried(subject, rate))
    except Exception as error:
        return Answer(question, None, f"training fails: {type(error).__name__}: {str(error).splitlines()[0]}")
    best = min(ours, key=lambda t: t.part_left())
    subject.memory["best"], subject.memory["own"] = best, own
    numbers = [
        ("loss at the start", best.losses[0], ""),
        (f"least loss in {len(best.losses)} steps", min(best.losses), f"below {NEAR_ZERO * best.losses[0]:.4g}"),
    ]
    if own is not None:
        numbers.append(("loss at the end with the given optimizer", own.losses[-1], f"below {own.losses[0]:.4g}"))
    findings = optimizer_fault(subject, own, best) or not_learnt(subject, held, best)
    left = best.part_left()
    says = findings[0].says if findings else f"{100 * max(0.0, 1 - left):.0f} % of its loss is gone after {len(best.losses)} steps"
    return Answer(question, False if findings and findings[0].severity != "note" else left < LEARNT or None, says, numbers, findings)


def tried(subject: Subject, rate: float | None) -> Tried:
    """Train a fresh copy; with its own optimizer where no rate is given."""
    part = subject.fresh()
    subject.torch.manual_seed(0)
    optimizer = part.optimizer if rate is None else subject.adam(part, rate)
    for group in optimizer.param_groups if rate is None else ():
        group["lr"] = max(group["lr"], group.get("initial_lr", group["lr"]))  # a warm-up begins at nothing
    weights = [p for p in part.model.parameters() if p.requires_grad and p.dim() >= 2]
    before = [p.detach().clone() for p in weights]
    losses = subject.train(part, optimizer, 2)
    changes = sorted(float((p.detach() - b).norm() / b.norm().clamp(min=1e-12)) for p, b in zip(weights, before) if float(b.norm()))
    enough = 0.03 * losses[0] if losses[0] > 0 else -math.inf
    losses += subject.train(part, optimizer, STEPS, enough=enough) if math.isfinite(losses[-1]) else []
    return Tried(losses, part, changes[len(changes) // 2] if changes else math.nan, float(optimizer.param_groups[0].get("lr", math.nan)))


def optimizer_fault(subject: Subject, own: Tried | None, best: Tried) -> list[Finding]:
    """What of the given optimizer keeps from learning what another one learns."""
    if own is None or own is best or best.part_left() > 0.8:
        return []
    rate, cls = own.rate, type(subject.given.optimizer).__name__
    proof = {"how": f"{len(best.losses)} steps on one batch with Adam at {best.rate:g}", "before": own.losses[-1], "after": best.losses[-1]}
    numbers = [
        (f"learning rate of {cls}", rate, f"about {best.rate:g}"),
        ("change of the median weight matrix in the first steps, by its norm", own.ratio, "about 0.001"),
        ("loss at the end", own.losses[-1], f"{best.losses[-1]:.4g}, as with another rate"),
    ]
    if own.broke or own.ratio > HUGE and own.losses[-1] > own.losses[0]:
        says = f"{cls} with a rate of {rate:g} destroys the weights: the loss goes from {own.losses[0]:.4g} to {own.losses[-1]:.4g}"
        return [fault("learning-rate-too-high", says, numbers, f"set lr={best.rate:g} or less", confidence=0.95, verified=proof)]
    decay = max((float(g.get("weight_decay", 0) or 0) for g in subject.given.optimizer.param_groups), default=0.0)
    left = without_decay(subject) if decay > 0.3 and own.part_left() > 0.8 else own.part_left()
    if left < 0.8 * own.part_left():
        says = f"a weight decay of {decay:g} pulls the weights to zero faster than the loss moves them"
        proof = {"how": "the same steps without weight decay", "before": own.part_left(), "after": left}
        decays = [("weight decay", decay, "0.01 or less"), ("share of the loss that is left", own.part_left(), f"{left:.3g}, without it")]
        return [fault("weight-decay-too-high", says, decays, "set weight_decay=0.01", confidence=0.9, verified=proof)]
    if own.ratio < TINY and own.part_left() > 0.998:
        says = f"{cls} with a rate of {rate:g} does not move the weights: the loss stays at {own.losses[-1]:.4g}"
        return [fault("learning-rate-too-low", says, numbers, f"set lr={best.rate:g}", confidence=0.95, verified=proof)]
    return []


def without_decay(subject: Subject) -> float:
    """What is left of the loss when the given optimizer decays nothing."""
    part = subject.fresh()
    for group in part.optimizer.param_groups:
        group["weight_decay"] = 0.0
    losses = subject.train(part, part.optimizer, STEPS)
    return losses[-1] / max(losses[0], 1e-30)


def not_learnt(subject: Subject, held: Pass, best: Tried) -> list[Finding]:
    """Not with any rate, though there are parameters enough: what do the scales and gradients say?"""
    base, count = subject.memory.get("base"), sum(p.numel() for p in subject.pristine[0].parameters() if p.requires_grad)
    floor = min(base, best.losses[0]) if base is not None else best.losses[0]
    if count < 4 * subject.rows or not best.broke and min(best.losses[-3:]) < 0.9 * floor or not best.losses[0] > 0:
        return []
    if not best.broke and best.losses[-1] < 0.95 * best.losses[3 * len(best.losses) // 4]:
        return []  # it is on its way
    numbers: list[Any] = [
        (f"least loss in {len(best.losses)} steps on one batch", min(best.losses), f"well below {floor:.4g}"),
        ("parameters", count, "enough"),
    ]
    for found in (large_targets(subject, numbers), scaled(subject, best), by_gradients(held, numbers)):
        if found is not None:
            return [found]
    for name, spread in (subject.memory.get("small") or {}).items():
        numbers.insert(0, ("spread of the weight times the root of its inputs", spread, "about 1"))
        return [fault("bad-init", f"{name} begins next to zero", numbers, "use the layer's own initialiser", Place(tensor=name), confidence=0.8)]
    says = f"one batch is not learnt at any rate tried: the loss stays at {min(best.losses):.4g}"
    return [fault("not-learning", says, numbers, "look at what lies between output and loss", severity="warning", confidence=0.6)]


def large_targets(subject: Subject, numbers: list[Any]) -> Finding | None:
    """Targets so large that few steps can't reach them: unwise, and no fault."""
    target = subject.target
    if not subject.torch.is_tensor(target) or not target.is_floating_point():
        return None
    size = max(float(target.abs().mean()), float(target.float().std()))
    numbers = [("mean size of the targets", size, "about 1"), *numbers]
    says = "the targets are so large that few steps can't reach them"
    return fault("unscaled-input", says, numbers, "standardise the targets", severity="note", stage="preprocess") if size > 50 else None


def by_gradients(held: Pass, numbers: list[Any]) -> Finding | None:
    """Do gradients vanish or explode from the last to the first layer?"""
    found = slopes(held)
    if found is None or 1e-3 <= found[0] <= 1e3:
        return None
    ratio, first, last = found
    check, remedy = ("vanishing-gradient", "use ReLU-like activations, norms or residuals, or an initialiser that keeps the scale")
    if ratio > 1:
        check, remedy = ("exploding-gradient", "use smaller initial weights, norms, or clip the gradients")
    numbers = [("gradient by weight of the first layer over that of the last", ratio, "about 1"), *numbers]
    place = Place(module=first.rpartition(".")[0], tensor=first)
    return fault(check, f"the gradient of {first} is {ratio:.2g} times that of {last}", numbers, remedy, place, confidence=0.85)


def scaled(subject: Subject, best: Tried) -> Finding | None:
    """Would the standardised input be learnt?"""
    given = subject.first_input
    if given is None or not given.is_floating_point() or given.dim() < 2 or 0.1 < float(given.float().std()) < 10 and float(given.float().abs().mean()) < 10:
        return None
    new = (given - given.mean(0)) / given.std(0).clamp(min=1e-8)
    part = subject.fresh()
    losses = subject.train(part, subject.adam(part, 1e-2), STEPS, subject.with_tensors(subject.inputs, lambda t: new if t is given else t), subject.target)
    if not math.isfinite(losses[-1]) or losses[-1] > 0.7 * min(best.losses):
        return None
    spread = float(given.float().std())
    tiny = spread < 0.1
    says = f"the input has a standard deviation of {spread:.3g}: it is learnt only when standardised"
    return fault(
        "double-normalised" if tiny else "unscaled-input",
        says,
        [
            ("standard deviation of the input", spread, "about 1"),
            ("mean size of the input", float(given.float().abs().mean()), "about 1"),
            ("loss at the end", min(best.losses), f"{losses[-1]:.4g}, standardised"),
        ],
        "scale the input once" if tiny else "standardise the input",
        stage="preprocess",
        confidence=0.9,
        verified={"how": f"{len(losses)} steps with the input standardised", "before": min(best.losses), "after": losses[-1]},
    )


def slopes(held: Pass) -> tuple[float, str, str] | None:
    """(gradient by weight of the first weight matrix over that of the last, their names)."""
    order = list(dict.fromkeys(n for op in held.tape for n in sorted(op.parameters)))
    named = dict(held.part.model.named_parameters())
    sizes = [
        (n, float(named[n].grad.norm() / named[n].detach().norm().clamp(min=1e-12)))
        for n in order
        if n in named and named[n].grad is not None and named[n].dim() >= 2
    ]
    if len(sizes) < 3 or not sizes[-1][1]:
        return None
    return sizes[0][1] / sizes[-1][1], sizes[0][0], sizes[-1][0]


# ---- what was learnt


def updates_fit(subject: Subject) -> Answer:
    """The change of a weight in one step of the given optimizer."""
    question = "a step changes the weights by a usual share"
    own: Tried | None = subject.memory.get("own")
    if own is None or math.isnan(own.ratio):
        return Answer(question, None, "no optimizer was given")
    numbers = [("change of the median weight matrix in the first steps, by its norm", own.ratio, "about 0.001")]
    return Answer(question, TINY <= own.ratio <= HUGE or None, f"by {own.ratio:.2g}", numbers)


def nothing_does_worse(subject: Subject) -> Answer:
    """With its inputs zeroed the trained copy must do worse than with them."""
    question = "a zeroed input does worse"
    best: Tried | None = subject.memory.get("best")
    if best is None or best.part_left() > LEARNT or not tensors_float(subject):
        return Answer(question, None, "nothing was learnt that could be lost")
    empty = subject.with_tensors(subject.inputs, lambda t: t * 0)
    try:
        full, none = (subject.loss_without(best.part.model, best.part.loss, i, subject.target) for i in (subject.inputs, empty))
    except Exception:
        return Answer(question, None, "zeros can't be given to this model")
    numbers = [("loss with the inputs", full, ""), ("loss with zeros in their place", none, f"above {full:.4g}")]
    return Answer(question, none > full or None, f"{none:.4g} against {full:.4g}", numbers)


def tensors_float(subject: Subject) -> bool:
    held = subject.first_input
    return held is not None and held.is_floating_point()


def labels_tell(subject: Subject) -> Answer:
    """One half of the batch learnt, the other judged: with the labels as they are, and with those of other rows."""
    question = "the labels tell more than permuted ones"
    torch, rows = subject.torch, subject.rows
    if (
        rows < 24
        or "best" not in subject.memory
        or subject.left() < 0.25 * subject.seconds
        or not torch.is_tensor(subject.target)
        or subject.target.shape[:1] != (rows,)
    ):
        return Answer(question, None, "too few rows (or no time) to judge what was not learnt")
    half, rest = slice(0, rows // 2), slice(rows // 2, rows)
    ends = []
    for order in (torch.arange(rows // 2), torch.roll(torch.arange(rows // 2), rows // 5)):
        part = subject.fresh()
        target = subject.target[half][order]
        try:
            subject.train(part, subject.adam(part, RATES[0]), 25, subject.taken(subject.inputs, half), target)
            ends.append(subject.loss_without(part.model, part.loss, subject.taken(subject.inputs, rest), subject.target[rest]))
        except Exception:
            return Answer(question, None, "no training on half of the batch")
    numbers = [("loss on other rows after learning the labels", ends[0], f"below {ends[1]:.4g}"), ("the same with the labels of other rows", ends[1], "")]
    if ends[0] < ends[1]:
        return Answer(question, True, f"{ends[0]:.4g} against {ends[1]:.4g} on the other half", numbers)
    found = fault(
        "misaligned-labels",
        "labels of other rows serve as well: these have little to do with the inputs (or were drawn at random)",
        numbers,
        "look whether inputs and labels stand in one order",
        severity="note",
        stage="preprocess",
        confidence=0.3,
    )
    return Answer(question, None, found.says, numbers, [found])


def modes_agree(subject: Subject) -> Answer:
    """What was learnt in training mode holds in evaluation."""
    question = "evaluation keeps what training learnt"
    best: Tried | None = subject.memory.get("best")
    if best is None or best.part_left() > LEARNT:
        return Answer(question, None, "nothing was learnt that could be lost")
    model = best.part.model
    settle(subject, best.part)
    train = subject.loss_without(model, best.part.loss, train=True)
    judged = subject.loss_without(model, best.part.loss)
    numbers = [("loss of the batch in training mode", train, ""), ("the same in evaluation mode", judged, f"about {train:.4g}")]
    start, base = best.losses[0], subject.memory.get("base")
    bar = max(start, base or 0.0)
    if judged <= max(0.8 * bar, 1.5 * train) or train > 0.5 * bar:
        return Answer(question, True, f"{judged:.4g} against {train:.4g}", numbers)
    turned = turned_round(subject)
    found = fault(
        "wrong-mode",
        "what is learnt in training mode is lost in evaluation: the model does something else there",
        numbers,
        turned or "look at what forward does by self.training",
        stage="evaluate",
        confidence=0.85,
    )
    return Answer(question, False, found.says, numbers, [found])


def settle(subject: Subject, part: Copy) -> None:
    """Let norms see the batch until their statistics are its own, however slow their momentum."""
    norms = [m for m in part.model.modules() if getattr(m, "track_running_stats", False) and m.momentum]
    if not norms:
        return
    kept = [m.momentum for m in norms]
    for m in norms:
        m.momentum = 0.9
    part.model.train()
    with subject.torch.no_grad():
        for _ in range(3):
            subject.call(part.model)
    for m, momentum in zip(norms, kept):
        m.momentum = momentum


def turned_round(subject: Subject) -> str | None:
    """Does dropout act in evaluation and not in training?"""
    held: Pass | None = subject.memory.get("pass")
    off = held is not None and any("dropout" in op.name and op.settings.get("training") is False for op in held.tape)
    return "dropout is off in training: give it training=self.training, not its contrary" if off else None
