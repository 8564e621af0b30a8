"""Rows and inputs: is each row answered by itself, does every input matter, is the same question answered the same?"""

from __future__ import annotations

from typing import Any

from ..places import NOWHERE, Place
from .answers import Answer, fault
from .contract import Pass
from .subject import MOST_ROWS, Subject
from .tape import Operation, taped, tensors

MOST_FEATURES = 64
LARGE = 1e-5  # relative change of another row that is no rounding: sums in another order differ by about 1e-7


def rows_independent(subject: Subject) -> Answer:
    """In evaluation one row is changed: do the answers to the others stay?"""
    question = "each row is answered by itself"
    held: Pass | None = subject.memory.get("pass")
    if held is None or subject.rows < 3 or held.output is None or not held.output.dim() or held.output.shape[0] != subject.rows:
        return Answer(question, None, "no output with the rows of the batch")
    if any(not t.dim() or t.shape[0] != subject.rows or t.shape[:2] == (subject.rows, subject.rows) for t in tensors(subject.inputs, subject.torch)):
        return Answer(question, None, "an input says which rows belong together, or has other rows")
    if held.output.shape[:2] == (subject.rows, subject.rows):
        return Answer(question, None, "the output tells of pairs of rows")
    few = min(subject.rows, MOST_ROWS)
    inputs = subject.taken(subject.inputs, slice(0, few))
    changed = another_row(subject, inputs, few)
    model = subject.fresh().model.eval()
    try:
        before, after = (recorded(subject, model, i) for i in (inputs, changed))
    except Exception:
        return Answer(question, None, f"no forward pass with {few} rows")
    apart = moved(before[-1].output, after[-1].output, subject.torch) if before and len(before) == len(after) else None
    if apart is None:
        return Answer(question, None, "two passes differ in their operations")
    others = without(apart.reshape(few, -1).any(1), few // 2)
    if not bool(others.any()):
        return Answer(question, True, "other rows stay as they were", [("other rows whose answer changes", 0, 0)])
    if second_axis(subject, model, before[-1].output):
        return Answer(question, True, "the batch lies along the second axis, whose parts keep to themselves")
    spot = first_mixing(before, after, few, subject.torch)
    found = mixing(spot, int(others.sum()), few)
    return Answer(question, False, found.says, found.evidence, [found])


def second_axis(subject: Subject, model: Any, output: Any) -> bool:
    """Is the batch the second axis of input and output (time first)? Then a change there keeps to its part."""
    given = subject.first_input
    if given.dim() < 2 or output.dim() < 2 or given.shape[1] != output.shape[1] or not 1 < given.shape[1]:
        return False
    few = min(given.shape[1], MOST_ROWS)
    base = subject.with_tensors(subject.inputs, lambda t: t[:, :few] if t.dim() > 1 and t.shape[:2] == given.shape[:2] else t)
    changed = subject.with_tensors(base, lambda t: replaced(t, few // 2) if t.dim() > 1 and t.shape[:2] == (given.shape[0], few) else t)
    try:
        one, two = (recorded(subject, model, i)[-1].output for i in (base, changed))
        apart = moved(one, two, subject.torch)
    except Exception:
        return False
    return apart is not None and not bool(without(apart.movedim(1, 0).reshape(few, -1).any(1), few // 2).any())


def replaced(t: Any, part: int) -> Any:
    """Another content in one part of the second axis."""
    new = t.clone()
    new[:, part] = -1.7 * t[:, part] + 0.3 if t.is_floating_point() else t[:, 0].flip(0)
    return new


def another_row(subject: Subject, inputs: Any, few: int) -> Any:
    """The inputs with the middle row replaced (recurrences carry a change only one way): other numbers, or another row's whole ones."""
    torch = subject.torch
    swapped, middle = {}, few // 2
    for t in tensors(inputs, torch):
        if t.dim() and t.shape[0] == few:
            new = t.clone()
            new[middle] = -1.7 * t[middle] + 0.3 if t.is_floating_point() else t[0] if not torch.equal(t[0], t[middle]) else t[1]
            swapped[id(t)] = new
    from_old = lambda t: swapped.get(id(t), t)  # noqa: E731
    return subject.with_tensors(inputs, from_old)


def recorded(subject: Subject, model: Any, inputs: Any) -> list[Operation]:
    """The operations of a pass in evaluation."""
    subject.torch.manual_seed(0)
    with subject.torch.no_grad(), taped(model) as tape:
        subject.call(model, inputs)
    return list(tape)


def moved(a: Any, b: Any, torch: Any) -> Any:
    """Which values changed by more than rounding."""
    if a.shape != b.shape:
        return None
    x, y = a.float(), b.float()
    return ~((x - y).abs() <= LARGE * x.abs().max().clamp(min=1e-30))


def first_mixing(before: list[Operation], after: list[Operation], few: int, torch: Any) -> Operation | None:
    """The first operation along no axis of whose result the change keeps to its own row."""
    for one, two in zip(before, after):
        for a, b in zip(one.outputs, two.outputs):
            apart = moved(a, b, torch) if a.is_floating_point() and a.dim() and a.numel() else None
            if apart is not None and bool(apart.any()) and a.numel() >= few and not confined(apart, few):
                return one
    return None


def confined(apart: Any, few: int) -> bool:
    """Does the change keep to the middle one of `few` parts along some axis (rows laid out one after the other, or taking turns)?"""
    for axis in range(apart.dim()):
        size = apart.shape[axis]
        if size % few:
            continue
        along = apart.movedim(axis, 0).reshape(size, -1).any(1)
        for parts in (along.reshape(few, -1).any(1), along.reshape(-1, few).any(0)):
            if not bool(without(parts, few // 2).any()):
                return True
    return False


def without(parts: Any, which: int) -> Any:
    """All but one."""
    return parts[[i for i in range(len(parts)) if i != which]]


def mixing(spot: Operation | None, others: int, few: int) -> Any:
    """What mixes the rows, by the operation at which they first do."""
    numbers = [("other rows whose answer changes with one row", others, f"0 of {few - 1}")]
    place = spot.place if spot else NOWHERE
    name = spot.name if spot else "an operation"
    if name in ("softmax", "log_softmax"):
        axis = spot.settings.get("dim", spot.settings.get("_1")) if spot else None
        numbers.append(("axis of the softmax", axis, "that of the classes, 1 or -1"))
        return fault(
            "wrong-softmax-dim",
            "a softmax runs over the rows of the batch",
            numbers,
            "take it over the classes: dim=1",
            place,
            confidence=0.97,
            verified="fact",
        )
    why = {
        "LSTM": "batch_first",
        "GRU": "batch_first",
        "RNN": "batch_first",
        "lstm": "batch_first",
        "gru": "batch_first",
        "MultiheadAttention": "batch_first",
    }.get(name)
    shape = name in ("view", "reshape", "flatten", "unflatten")
    remedy = (
        "set batch_first=True, or give it the batch as the second axis"
        if why
        else "move axes with transpose or permute, not by reshape"
        if shape
        else "take moments and products within a row"
    )
    says = f"{name} lets the rows of a batch influence each other"
    return fault("batch-mixing", says, numbers, remedy, place, confidence=0.95, verified="fact")


def inputs_matter(subject: Subject) -> Answer:
    """Every input, and every column of a table, changes the answer."""
    question = "every input matters"
    held: Pass | None = subject.memory.get("pass")
    if held is None or held.output is None or subject.rows < 2:
        return Answer(question, None, "no output to look at")
    model, before = subject.fresh().model, subject.left()
    base = subject.answers(model)
    cost = before - subject.left()
    if not bool(base.isfinite().all()):
        return Answer(question, None, "the answers are not finite")
    dead = [i for i, t in enumerate(tensors(subject.inputs, subject.torch)) if not matters(subject, model, base, i, None)]
    if dead:  # a head that begins at zero hides everything before it
        model, base = begun(subject)
        dead = [i for i in dead if not matters(subject, model, base, i, None) and not slope(subject, model, i)]
    table = subject.first_input
    columns: list[int] = []
    cheap = table is not None and table.dim() == 2 and 2 * table.shape[1] * cost < 0.3 * subject.seconds
    if not dead and cheap and table.dim() == 2 and table.is_floating_point() and 1 < table.shape[1] <= MOST_FEATURES:
        columns = [c for c in range(table.shape[1]) if float(table[:, c].std()) > 0 and not matters(subject, model, base, 0, c)]
    numbers = [("inputs that change nothing", len(dead), 0), ("columns that change nothing", len(columns), 0)]
    if not dead and not columns:
        return Answer(question, True, "all of them do", numbers)
    spot = where_lost(subject) if dead else None
    found = lost_input(subject, dead, columns, spot, numbers)
    return Answer(question, False, found.says, found.evidence, [found])


def begun(subject: Subject) -> tuple[Any, Any]:
    """A copy after a few steps, and its answers."""
    part = subject.fresh()
    try:
        subject.train(part, subject.adam(part, 1e-2), 3)
    except Exception:
        part = subject.fresh()
    return part.model, subject.answers(part.model)


def slope(subject: Subject, model: Any, which: int) -> bool:
    """Does a gradient lead back to that input? Then it matters, though by less than the answers can show."""
    given = tensors(subject.inputs, subject.torch)[which]
    if not given.is_floating_point():
        return False
    asked = given.detach().clone().requires_grad_()
    inputs = subject.with_tensors(subject.inputs, lambda t: asked if t is given else t)
    out = [t for t in tensors(model(**inputs) if isinstance(inputs, dict) else model(*inputs), subject.torch) if t.requires_grad]
    if not out:
        return False
    sum(t.float().square().sum() for t in out).backward()  # type: ignore[union-attr]
    return asked.grad is not None and bool(asked.grad.abs().max() > 0)


def matters(subject: Subject, model: Any, base: Any, which: int, column: int | None) -> bool:
    """Does another value of an input (or of one column of it) give another answer?"""
    torch, given = subject.torch, tensors(subject.inputs, subject.torch)[which]
    for shift in (3.0, -3.0):
        new = given.clone()
        part = new[:, column] if column is not None else new
        if given.is_floating_point():
            part.add_(shift * (float(part.float().std()) or 1.0))
            part.copy_(part.roll(1, 0))
        elif given.dtype == torch.bool:
            return True  # a mask
        else:
            new = given.roll(1, 0)
        if torch.equal(new, given):
            return True
        try:
            now = subject.answers(model, subject.with_tensors(subject.inputs, lambda t, n=new: n if t is given else t))
        except Exception:
            return True
        if now.shape != base.shape or not torch.equal(now, base):
            return True
    return False


def where_lost(subject: Subject) -> Operation | None:
    """The last operation reached by the input whose result no longer depends on it."""
    model = subject.fresh().model.eval()
    one = recorded(subject, model, subject.inputs)
    two = recorded(subject, model, subject.with_tensors(subject.inputs, lambda t: (1.5 * t.roll(1, 0) + 0.7) if t.is_floating_point() else t.roll(1, 0)))
    known: set[int] = set()
    spots = []
    for a, b in zip(one, two):
        alive = any(id(t) in known for t in a.inputs) or not known and bool(a.inputs)
        changed = any(x.shape == y.shape and not subject.torch.equal(x, y) for x, y in zip(a.outputs, b.outputs))
        if changed:
            known.update(id(t) for t in a.outputs)
        elif alive and a.outputs and a.outputs[0].is_floating_point():
            spots.append(a)
    return spots[0] if spots else None


def lost_input(subject: Subject, dead: list[int], columns: list[int], spot: Operation | None, numbers: list[Any]) -> Any:
    """The finding of an input without influence."""
    if not dead:
        says = (
            f"columns {columns[:5]} of the input never change the answer" if len(columns) > 1 else f"column {columns[0]} of the input never changes the answer"
        )
        return fault(
            "graph-broken",
            says,
            numbers,
            "let the model use all columns, or leave those out of the input",
            Place(column=[str(c) for c in columns[:50]]),
            severity="warning",
            confidence=0.95,
            verified="fact",
        )
    place = spot.place if spot else NOWHERE
    if spot is not None and spot.name.lower().rstrip("_") in ("relu", "relu6", "clamp", "hardtanh", "threshold") and float(spot.output.abs().max()) == 0:
        return fault(
            "dead-units",
            "a rectifier is zero for every row: the answer does not depend on the input",
            [*numbers, ("share of units that are zero for all rows", 1.0, "below 0.5")],
            "bring the biases and weights before it to their usual scale",
            place,
            confidence=0.95,
            verified="fact",
        )
    name = spot.name if spot else "an operation"
    which = "the input" if len(tensors(subject.inputs, subject.torch)) == 1 else f"input {dead[0]}"
    return fault(
        "graph-broken",
        f"the answer does not depend on {which}: it is lost at `{name}`",
        numbers,
        "let it reach the layers",
        place.but(tensor=f"input {dead[0]}"),
        confidence=0.95,
        verified="fact",
    )


def same_each_time(subject: Subject) -> Answer:
    """Evaluation twice gives the same, whatever the random streams."""
    question = "evaluation gives the same answer twice"
    if "pass" not in subject.memory:
        return Answer(question, None, "no forward pass to look at")
    model = subject.fresh().model
    try:
        one, two = (subject.predict(model, seed=s) for s in (1, 2))
    except Exception as error:
        return Answer(question, None, f"no forward pass in evaluation ({type(error).__name__})")
    apart = float((one.float() - two.float()).abs().max()) if one.shape == two.shape and one.numel() else 0.0
    numbers = [("largest difference between two evaluations", apart, 0)]
    if apart <= LARGE * max(float(one.float().abs().max()), 1e-30) or apart != apart:
        return Answer(question, True, "it does", numbers)
    spot = first_apart(subject, model.eval())
    name = spot.name if spot else "an operation"
    drops, place = "dropout" in name.lower(), spot.place if spot else NOWHERE
    says = f"{name} draws at random in evaluation mode too"
    if not drops:  # a model that samples does so on purpose more often than not
        note = fault("nondeterministic-op", says, numbers, "draw only while self.training", place, "note", stage="evaluate")
        return Answer(question, None, says, numbers, [note])
    remedy = "give it training=self.training"
    return Answer(question, False, says, numbers, [fault("evaluated-in-train-mode", says, numbers, remedy, place, stage="evaluate", verified="fact")])


def first_apart(subject: Subject, model: Any) -> Operation | None:
    """The first operation whose result follows the seed."""
    for a, b in zip(recorded_with(subject, model, 1), recorded_with(subject, model, 2)):
        if a.name == b.name and any(x.shape == y.shape and not subject.torch.equal(x, y) for x, y in zip(a.outputs, b.outputs)):
            return a
    return None


def recorded_with(subject: Subject, model: Any, seed: int) -> list[Operation]:
    subject.torch.manual_seed(seed)
    with subject.torch.no_grad(), taped(model) as tape:
        subject.call(model)
    return list(tape)
