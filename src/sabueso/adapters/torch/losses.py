"""Losses: what each loss function was given, how the prediction came about, and where shapes were stretched on the way."""

from __future__ import annotations

from typing import Any

import torch

from .handmade import Handmade, Known
from .identity import ByIdentity
from .modules import Modules
from .trace import Made, Trace, is_plain, tensors_in
from .watch import Watch

PART = "losses"
LOSSES = frozenset({
    "cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss",
    "kl_div", "poisson_nll_loss", "gaussian_nll_loss", "soft_margin_loss", "multi_margin_loss", "multilabel_margin_loss",
    "multilabel_soft_margin_loss", "hinge_embedding_loss", "ctc_loss",
})  # fmt: skip
ELEMENTWISE = frozenset({"sub", "rsub", "mul", "rmul", "add", "radd", "eq", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "pow", "div", "truediv",
                         "maximum", "minimum"})  # fmt: skip
SHAPING = frozenset({"view", "reshape", "squeeze", "flatten", "getitem", "unsqueeze", "to", "float", "double", "clone", "contiguous", "transpose",
                     "permute", "type", "half", "bfloat16", "view_as", "expand", "movedim", "T", "mT",
                     "cpu", "cuda", "type_as", "unflatten", "swapaxes"})  # fmt: skip
STRETCHED = frozenset({"unsqueeze", "getitem", "view", "reshape", "expand", "T", "mT", "transpose", "meshgrid", "unflatten", "permute"})
MOST_VALUES = 200_000
MOST_FACTS = 40  # of one kind in a run
DEEP = 6  # producers of a prediction told


class Losses:
    """Watches loss functions and elementwise operations of sampled steps, and tells those that a loss depends on."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.trace: Trace = watch.parts["trace"]
        self.modules: Modules = watch.parts["modules"]
        self.handmade = Handmade(self.trace)
        self.calls: list[tuple[Made, dict[str, Any]]] = []
        self.stretched: list[tuple[Made, dict[str, Any]]] = []
        self.softmaxes: list[Made] = []
        self.told: dict[str, int] = {}
        self.rows: int | None = None  # of the model's first input in this step
        self.square = ByIdentity()  # layers whose axes were as long as each other
        self.sequences: list[tuple[Any, dict[str, Any]]] = []  # layers that take axis 0 for time, with the shape they were given

    def clear(self) -> None:
        self.calls, self.stretched, self.softmaxes, self.sequences = [], [], [], []
        self.handmade.clear()

    def module(self, module: Any, args: Any, result: Any) -> None:
        """A layer that takes axis 0 for time: what shape was it given?"""
        if getattr(module, "batch_first", None) is not False or not args or not torch.is_tensor(args[0]) or args[0].dim() != 3:
            return
        self.unequal(module, list(args[0].shape))
        if len(self.sequences) < 16:
            line = self.modules.built.get(module)
            self.sequences.append((module, {"shape": list(args[0].shape), "class": type(module).__name__, "built": line.told if line else None}))

    def forward(self, root: Any, inputs: Any, outputs: Any) -> None:
        """The model was called: how many rows?"""
        first = next(iter(tensors_in(inputs)), None)
        self.rows = first.shape[0] if first is not None and first.dim() else None

    def mixing(self, value: dict[str, Any]) -> None:
        """Rows of the batch taken for steps in time: the layer's axis 0 is as long as the targets are many, each row having its own."""
        target = value["target"]["shape"]
        for module, told in self.sequences:
            steps, rows = told["shape"][:2]
            if target and (len(target) == 1 or target[1:] == [1]) and target[0] == steps == self.rows and steps > 1 < rows and self.watch.step < 20:
                if steps == rows:  # which axis is which, other batches must tell
                    self.square[module] = told | {"batch": self.rows}
                else:
                    self.mixes(module, told | {"batch": self.rows})

    def unequal(self, module: Any, shape: list[int]) -> None:
        """A layer that was given as many rows as steps is given another number along axis 0 alone: that is the batch's axis."""
        told = self.square.get(module)
        if told is not None and shape[1] == told["shape"][1] != shape[0]:
            self.mixes(module, told)
            self.mixes(module, told | {"shape": shape})

    def mixes(self, module: Any, told: dict[str, Any]) -> None:
        """The fact batch_mixing, once a step and shape."""
        label = self.modules.label(module)
        if self.recorder.once("batch_mixing", label, self.watch.step, *told["shape"]):
            where = {"file": told["built"][0], "line": told["built"][1]} if told["built"] else {}
            self.recorder.fact("batch_mixing", told, step=self.watch.step, stage="train", module=label, **where)

    # ---- seen

    def operation(self, name: str, func: Any, args: Any, kwargs: Any, result: Any, outputs: list[Any]) -> None:
        """One operation of a sampled step."""
        if not outputs:
            return
        if name in LOSSES and len(self.calls) < 64:
            self.loss_call(name, args, kwargs, outputs[0])
        elif (known := self.handmade.see(name, args, kwargs, outputs[0])) is not None and len(self.calls) < 64:
            self.hand_made(known, outputs[0])
        if name in ELEMENTWISE and len(args) > 1 and torch.is_tensor(args[0]) and torch.is_tensor(args[1]):
            self.elementwise(name, args[0], args[1], outputs[0])
        elif name in ("softmax", "log_softmax", "softmin"):
            made = self.trace.of(outputs[0])
            if made is not None:
                if kwargs.get("dim", args[1] if len(args) > 1 else None) is None:
                    made.extra = "implicit"
                made.dim = softmax_axis(kwargs, args, len(made.shape))
                self.softmaxes.append(made)

    def loss_call(self, name: str, args: Any, kwargs: Any, out: Any) -> None:
        """A loss function: prediction and target as they were given."""
        prediction = args[0] if args else kwargs.get("input")
        target = args[1] if len(args) > 1 else kwargs.get("target")
        made = self.trace.of(out)
        if made is None or not torch.is_tensor(prediction) or not torch.is_tensor(target):
            return
        value = self.value(name, prediction, target, self.trace.of(prediction), kwargs)
        for key in ("log_target", "log_input", "label_smoothing", "beta", "delta"):
            if key in kwargs:
                value[key] = kwargs[key]
        sources = self.watch.parts.get("sources")
        if sources is not None and value["target"].get("outside_unit", 0) > 0.05 and len(value["target"]["shape"]) > 1 and name.startswith("binary"):
            value["source"] = sources.source(target)
        self.called(LossCall(name, prediction, target, made, value))

    def hand_made(self, known: Known, out: Any) -> None:
        """A number that is a loss without a loss function being called."""
        made = self.trace.of(out)
        if made is not None:
            value = self.value(known.function, known.prediction, known.target, known.source, {}) | {"handmade": True}
            value["reduction"] = "mean" if abs(known.times - 1) < 1e-3 else "scaled"
            self.called(LossCall(known.function, known.prediction, known.target, made, value, known.value, known.source))

    def called(self, call: LossCall) -> None:
        """Keep it until the backward, tell the others."""
        call.value["target_integers"] = was_integers(self.trace.of(call.target))
        self.calls.append((call.made, call.value))
        self.watch.tell("on_loss_call", call)
        if self.watch.evaluating and not torch.is_grad_enabled():
            self.fact("loss_call_evaluation", "loss_call", call.value | {"in_loss": False}, call.made)

    def value(self, name: str, prediction: Any, target: Any, given: Made | None, kwargs: Any) -> dict[str, Any]:
        """The fact `loss_call`."""
        return {
            "function": name, "reduction": kwargs.get("reduction", "mean"), "prediction": described(prediction), "target": described(target),
            "producers": producers(given, self.modules) if given is not None else [], "grad": bool(torch.is_grad_enabled()),
            "target_grad": bool(target.requires_grad), "weights": sorted(k for k, v in kwargs.items() if torch.is_tensor(v) and k in ("weight", "pos_weight")),
            "ignore_index": kwargs.get("ignore_index"), "evaluating": self.watch.evaluating,
        }  # fmt: skip

    def elementwise(self, name: str, a: Any, b: Any, out: Any) -> None:
        """An operation whose result is larger than both of its operands."""
        if out.numel() <= max(a.numel(), b.numel()) and not (name in LOSSES and a.shape != b.shape and stretches(a.shape, b.shape)):
            return
        made, first, second = self.trace.of(out), self.trace.of(a), self.trace.of(b)
        if made is None or first is None or second is None or len(self.stretched) >= 64:
            return
        shape = list(torch.broadcast_shapes(a.shape, b.shape))
        value = {"operation": name, "shapes": [list(a.shape), list(b.shape)], "result": shape, "grad": [first.grad, second.grad],
                 "made": [first.op, second.op], "explicit": [explicit(first), explicit(second)], "same_source": same_source(first, second),
                 "modules": [self.module_of(first), self.module_of(second)]}  # fmt: skip
        self.stretched.append((made, value))

    def module_of(self, made: Made) -> str | None:
        """The module that made a tensor, through operations that only reshape it."""
        for producer in chain(made):
            if producer.op not in SHAPING:
                return self.modules.label(producer.module) if producer.module is not None else None
        return None

    # ---- told

    def backward(self, tensors: tuple[Any, ...], _: Any) -> None:
        """What of it leads to this loss."""
        if not self.watch.armed:
            return
        for tensor in tensors:
            loss = self.trace.of(tensor) if torch.is_tensor(tensor) else None
            if loss is None:
                continue
            leads = {id(m) for m in loss.ancestors()}
            for made, value in self.calls:
                if id(made) in leads:
                    self.mixing(value)
                    self.fact("loss_call", "loss_call", value | {"in_loss": True}, made)
            for made, value in self.stretched:
                if id(made) in leads:
                    self.fact("broadcast", "broadcast", value, made)
            for made in self.softmaxes:
                if id(made) in leads:
                    self.softmax(made, leads)
        self.clear()

    def softmax(self, made: Made, leads: set[int]) -> None:
        """A softmax on the way to the loss, with the operation that uses it."""
        users = [[m.op, next(i for i, p in enumerate(m.parents) if p is made)] for m in self.trace.order
                 if id(m) in leads and any(p is made for p in m.parents)][:3]  # fmt: skip
        other = any(s is not made and s.parents[:1] == made.parents[:1] or transposed(s, made) for s in self.softmaxes)
        batch = self.modules_batch
        value = {"operation": made.op, "shape": list(made.shape), "dim": made.dim, "used_by": users, "batch": batch, "rows": self.rows,
                 "implicit": made.extra == "implicit", "both_ways": other, "module_class": type(made.module).__name__}  # fmt: skip
        self.fact("softmax_dim", "softmax_dim", value, made)

    @property
    def modules_batch(self) -> int | None:
        """Rows of the batch, as the first loss call of this step tells."""
        for _, value in self.calls:
            return value["target"]["shape"][0] if value["target"]["shape"] else None
        return None

    def fact(self, kind: str, name: str, value: dict[str, Any], made: Made) -> None:
        """Record with the line of the operation; the first of each line at each of the first sampled steps."""
        key = f"{kind} {made.line}"
        self.told[key] = self.told.get(key, 0) + 1
        self.told[kind] = self.told.get(kind, 0) + 1
        if self.told[key] > 8 or self.told[kind] > MOST_FACTS:
            return
        where = made.line.place if made.line else {}
        self.recorder.fact(name, value, step=self.watch.step, stage="evaluate" if value.get("evaluating") else "train",
                           module=self.modules.label(made.module) if made.module is not None else None, **where)  # fmt: skip


class LossCall:
    """What hangs on on_loss_call gets: `function`, `prediction` and `target` (tensors: do not keep them), `made`, `value` (the fact).

    For a hand-made loss `mean` is what the function gives (the number at hand may be a sum, or the half), and `source` the prediction's record.
    """

    def __init__(
        self, function: str, prediction: Any, target: Any, made: Made, value: dict[str, Any], mean: float | None = None, source: Made | None = None
    ) -> None:
        self.function, self.prediction, self.target, self.made, self.value, self.mean, self.source = function, prediction, target, made, value, mean, source


def chain(made: Made | None) -> list[Made]:
    """A tensor and its makers along the first operand through which a gradient flows."""
    found: list[Made] = []
    while made is not None and len(found) < 40:
        found.append(made)
        flows = [p for p in made.parents if p.op != "parameter" and (p.grad or p.lost)]
        made = flows[0] if flows else next((p for p in made.parents if p.op not in ("parameter", "leaf")), None)
    return found


def producers(made: Made, modules: Modules) -> list[dict[str, Any]]:
    """The makers of a prediction, nearest first, up to six deep without those that only reshape."""
    told = []
    for m in chain(made):
        if m.op in SHAPING or m.op == "leaf":
            continue
        row = {"op": m.op, "module": modules.label(m.module) if m.module is not None else None, "dim": m.dim}
        if "softmax" in m.op and isinstance(m.dim, int) and -len(m.shape) <= m.dim < len(m.shape):
            row["size"] = m.shape[m.dim]
        if m.module is not None:
            row["class"] = type(m.module).__name__
            row["built"] = modules.line_of(m.module)
        if m.line is not None:
            row["line"] = m.line.told
        told.append(row)
        if len(told) == DEEP:
            break
    return told


def described(tensor: Any) -> dict[str, Any]:
    """Shape, dtype, and where they can be read at once: range, sums of rows, and what integers or few values it holds."""
    value: dict[str, Any] = {"shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch."), "grad": bool(tensor.requires_grad)}
    if not is_plain(tensor) or not tensor.numel() or tensor.is_complex():
        return value
    rows = tensor.detach()
    if rows.numel() > MOST_VALUES and rows.dim():
        rows = rows[: max(1, MOST_VALUES * rows.shape[0] // rows.numel())]
    low, high = torch.aminmax(rows.reshape(-1))
    value |= {"low": low.item(), "high": high.item()}
    if rows.is_floating_point():
        value["mean"] = rows.double().mean().item()
        value["whole"] = bool((rows == rows.round()).all())
        value["outside_unit"] = ((rows < 0) | (rows > 1)).double().mean().item()
        value["outside_one"] = (rows.abs() > 1).double().mean().item()
        value["negative"] = (rows < 0).double().mean().item()
    if rows.dim() >= 2 and rows.shape[1] > 1:
        sums = rows.double().sum(1)
        value |= {"row_sum_low": sums.min().item(), "row_sum_high": sums.max().item()}
    if rows.numel() <= 20_000 and (not rows.is_floating_point() or value["whole"]):
        distinct = torch.unique(rows)
        value["distinct"] = distinct[:20].tolist() if len(distinct) <= 20 else len(distinct)
    return value


def softmax_axis(kwargs: Any, args: Any, dims: int) -> Any:
    """The axis along which a softmax normalises; without one, the one torch picks (with a warning)."""
    dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
    if dim is None:
        return 0 if dims in (0, 1, 3) else 1
    return dim % dims if isinstance(dim, int) and dims else dim


def transposed(a: Made, b: Made) -> bool:
    """Are these softmaxes of one square table and of its transpose (both ways round, as contrastive losses take them)?"""
    return a is not b and len(a.shape) == 2 and a.shape == b.shape[::-1] and a.shape[0] == a.shape[1]


def stretches(a: Any, b: Any) -> bool:
    """Is the broadcast of two shapes larger than both?"""
    shape = torch.broadcast_shapes(a, b)
    return shape.numel() > max(a.numel(), b.numel())


def explicit(made: Made) -> bool:
    """Was an axis of length 1 put in on purpose just before (unsqueeze, [:, None], view), outside of a module?"""
    while made.op in ("to", "float", "double", "contiguous", "clone", "detach", "type", "data", "expand"):
        if not made.parents:
            return False
        made = made.parents[0]
    if made.op not in STRETCHED or not made.parents:
        return False
    before = made.parents[0].shape
    return len(made.shape) > len(before) and sum(n == 1 for n in made.shape) > sum(n == 1 for n in before)


def same_source(a: Made, b: Made) -> bool:
    """Do both operands come from one tensor (all pairs of one batch), seen through reshaping?"""
    roots = []
    for made in (a, b):
        while made.op in SHAPING or made.op in ("detach", "data"):
            if not made.parents:
                break
            made = made.parents[0]
        roots.append(made)
    return roots[0] is roots[1]


def was_integers(made: Made | None) -> bool:
    """Were these numbers integers before they were cast?"""
    for _ in range(4):
        if made is None or not made.dtype.is_floating_point:
            break
        made = made.parents[0] if made.op in SHAPING and made.parents else None
    return made is not None and not made.dtype.is_floating_point


def install(watch: Watch) -> None:
    """Hang on the operations and the backward of sampled steps."""
    losses = Losses(watch)
    watch.parts["losses"] = losses
    watch.hang("on_operation", PART, losses.operation)
    watch.hang("on_module", PART, losses.module)
    watch.hang("on_forward", PART, losses.forward)
    watch.hang("on_backward", PART, losses.backward, sampled=True)
    watch.hang("on_arm", PART, losses.clear)
    watch.hang("on_disarm", PART, losses.clear)


__all__ = ["LossCall", "Losses", "chain", "described", "install", "producers", "tensors_in"]
