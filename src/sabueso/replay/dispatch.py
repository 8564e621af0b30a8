"""Dispatch: watches every operation of a replay and follows what is not finite from where it was born to the loss or a gradient."""

from __future__ import annotations

import ast
import math
import sys
import time
from typing import Any

from ..capture.operands import instruction_in, operand_nodes
from ..capture.origin import absolute, is_users

MOST_SECONDS = 60.0  # of one replay
MOST_BIRTHS = 400
FIRST = 50
CONSTANT = tuple("full fill masked_fill scalar_tensor zeros ones new_ lift_fresh empty where constant_pad tril triu".split())
REPLAY = f"{__package__}.zoom"


class TooLong(Exception):
    """The replay took more time than it may."""


class Hunt:
    """`births` are operations with finite inputs and an output that is not, in order; `taint` says which of them reach a tensor."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.births: list[dict[str, Any]] = []
        self.ops = 0
        self.node: Any = None  # of the backward pass, where one is run by itself
        self.taint: dict[int, frozenset[int]] = {}
        self.stack: list[str] = []
        self.made_in: dict[int, tuple[str | None, Any]] = {}  # sequence number of a node -> module, the person's place
        self.picked: list[tuple[Any, Any]] = []  # the last choices of rows of data: what of, which
        self.kept: list[Any] = []  # tainted tensors stay alive, so that their ids stay theirs
        self.began = time.monotonic()

    def see(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """One operation runs."""
        torch = self.torch
        self.ops += 1
        if self.ops % 64 == 0 and time.monotonic() - self.began > MOST_SECONDS:
            raise TooLong
        node = self.node if self.node is not None else torch._C._current_autograd_node()
        if node is None:
            self.pick(func, args)
            self.made_in[torch.autograd._get_sequence_nr() - 1] = self.stack[-1] if self.stack else None, standing(sys._getframe(1))
        inputs = [t for t in tensors(torch, (args, kwargs)) if t.is_floating_point()]
        mutable = func._schema.is_mutable
        before = [(bad(torch, t), described(torch, t)) for t in inputs] if mutable else None
        result = func(*args, **kwargs)
        outputs = [t for t in tensors(torch, result) if bad(torch, t)]
        if outputs or mutable:
            self.follow(func, node, inputs, outputs, before)
        return result

    def pick(self, func: Any, args: Any) -> None:
        """Are rows of data chosen by their numbers, as in `X[ids]`? Then whatever has as many rows is of these."""
        name = func._schema.name
        if name not in ("aten::index", "aten::index_select") or args[0].requires_grad:
            return
        index = args[1][0] if name == "aten::index" else args[2]
        if index is not None and index.dim() == 1 and not index.is_floating_point() and index.dtype != self.torch.bool:
            self.picked = [*self.picked[-7:], (args[0], index)]

    def follow(self, func: Any, node: Any, inputs: list[Any], outputs: list[Any], before: Any) -> None:
        """Whence do the bad outputs come: from bad inputs, or were they born here?"""
        dirty = [t for k, t in enumerate(inputs) if (before[k][0] if before else self.known(t) is not None or bad(self.torch, t))]
        marks: frozenset[int] = frozenset()
        for t in dirty:
            known = self.known(t)
            marks |= known if known is not None else frozenset({self.given(t, node)})
        if outputs and (not dirty or self.turned(outputs, dirty, marks)):
            outputs = [t for t in outputs if not bool(self.torch.isfinite(t.detach()).all())]
            marks = frozenset({self.birth(func, node, inputs, outputs, before)}) if outputs else marks
        for t in outputs:
            self.taint[id(t)] = marks
            self.kept.append(t)
        if before is not None:  # what was written over may be finite now
            for t in inputs:
                if id(t) in self.taint and not any(t is o for o in outputs) and not bad(self.torch, t):
                    del self.taint[id(t)]

    def known(self, tensor: Any) -> frozenset[int] | None:
        """Which births reach a tensor, or the one that it is a view of, as far as is known."""
        marks = self.taint.get(id(tensor))
        return marks if marks is not None or tensor._base is None else self.taint.get(id(tensor._base))

    def turned(self, outputs: list[Any], dirty: list[Any], marks: frozenset[int]) -> bool:
        """NaN made of infinities that were put there on purpose (a mask): this operation, not the mask, is where it went wrong."""
        nan = self.torch.isnan
        constant = all(self.births[k]["how"] == "constant" for k in marks)
        return constant and any(bool(nan(t).any()) for t in outputs) and not any(bool(nan(t).any()) for t in dirty)

    def given(self, tensor: Any, node: Any) -> int:
        """A tensor that was not finite before the replay began."""
        told = {"how": "given", "op": "", "tensor": tensor, "backward": node is not None, "inputs": [], **self.place(node)}
        told.update(offending(self.torch, [tensor]))
        self.births.append(told)
        self.taint[id(tensor)] = frozenset({len(self.births) - 1})
        self.kept.append(tensor)
        return len(self.births) - 1

    def birth(self, func: Any, node: Any, inputs: list[Any], outputs: list[Any], before: Any) -> int:
        """The number of a new birth."""
        torch = self.torch
        if len(self.births) >= MOST_BIRTHS:
            return MOST_BIRTHS - 1
        name = func._schema.name.removeprefix("aten::").strip("_")
        constant = node is None and name.startswith(CONSTANT) and not any(bool(torch.isnan(t).any()) for t in outputs)
        told = {
            "how": "constant" if constant else "computed", "op": name, "backward": node is not None,
            "node": node.name() if node is not None else None, **self.place(node),
            "inputs": [b[1] for b in before] if before else [described(torch, t) for t in inputs[:6]], **offending(torch, outputs),
        }  # fmt: skip
        shape = told["shape"]
        told["picked"] = [p for p in self.picked if shape and len(p[1]) == shape[0] and len(p[0]) > shape[0]]
        self.births.append(told)
        return len(self.births) - 1

    def place(self, node: Any) -> dict[str, Any]:
        """Module, file, line, expression: of a backward operation those of the forward one that it belongs to."""
        if node is None:
            return {"module": self.stack[-1] if self.stack else None, **line_of(standing(sys._getframe(2)))}
        module, made = self.made_in.get(node._sequence_nr(), (None, None))
        own = standing(sys._getframe(2), REPLAY)  # in the backward of a function that the person wrote
        return {"module": module, **line_of(own if own is not None else made)}


def mode_of(torch: Any) -> type:
    """The dispatch mode round a Hunt; a class that can only be made once torch is there."""

    class Mode(sys.modules["torch.utils._python_dispatch"].TorchDispatchMode):  # type: ignore[misc, name-defined]
        def __init__(self, hunt: Hunt) -> None:
            super().__init__()
            self.hunt = hunt

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # nothing is compiled in a replay: the wrapper round each operation would cost as much as the look at it

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return self.hunt.see(func, args, kwargs or {})

    return Mode


def standing(frame: Any, until: str | None = None) -> tuple[Any, int, int] | None:
    """The person's innermost line from a frame on (up to a module of that name): code, instruction, line; no frame is kept."""
    while frame is not None and not is_users(frame.f_code.co_filename):
        if until is not None and frame.f_globals.get("__name__") == until:
            return None
        frame = frame.f_back
    return (frame.f_code, frame.f_lasti, frame.f_lineno) if frame is not None else None


def line_of(place: tuple[Any, int, int] | None) -> dict[str, Any]:
    """The person's file and line, the expression that runs there and the names in it."""
    if place is None:
        return {"file": None, "line": None, "text": None}
    code, instruction, line = place
    node = instruction_in(code, instruction)
    names = [ast.unparse(n) for n in operand_nodes(node)] if isinstance(node, ast.expr) else []
    text = ast.unparse(node)[:200] if isinstance(node, ast.expr) else None
    return {"file": absolute(code), "line": line, "text": text, "names": list(dict.fromkeys(names))[:6]}


def tensors(torch: Any, value: Any) -> list[Any]:
    """The tensors in nested arguments."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for part in value for t in tensors(torch, part)]
    if isinstance(value, dict):
        return [t for part in value.values() for t in tensors(torch, part)]
    return []


def bad(torch: Any, t: Any) -> bool:
    """Does it hold a value that is not finite?"""
    if not t.is_floating_point() or t.numel() == 0 or t.layout != torch.strided or t.is_meta:
        return False
    total = t.detach().sum().item()  # read once; a sum may overflow by itself
    return math.isnan(total) or math.isinf(total) and not bool(torch.isfinite(t.detach()).all())


def described(torch: Any, t: Any) -> dict[str, Any]:
    """Shape, dtype and range of an operand."""
    told: dict[str, Any] = {"shape": list(t.shape), "dtype": str(t.dtype).removeprefix("torch.")}
    if t.numel() and t.layout == torch.strided:
        t = t.detach()
        good = t[torch.isfinite(t)]
        if good.numel():
            told["min"], told["max"], told["smallest"] = float(good.min()), float(good.max()), float(good.abs().min())
    return told


def offending(torch: Any, outputs: list[Any]) -> dict[str, Any]:
    """How many elements of the first bad tensor are NaN or infinite, and where along its first axis."""
    t = outputs[0].detach()
    wrong = ~torch.isfinite(t)
    places = wrong.reshape(t.shape[0], -1).any(1).nonzero().flatten().tolist() if t.dim() else []
    return {
        "bad": int(wrong.sum()), "of": t.numel(), "nan": int(torch.isnan(t).sum()), "shape": list(t.shape), "rows": places[:FIRST],
        "all_rows": bool(t.dim()) and len(places) == t.shape[0],
    }  # fmt: skip
