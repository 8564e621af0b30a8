"""Layout: are the pictures that a model is given laid out as their shape says, or is another order of axes in their memory?"""

from __future__ import annotations

import ast
import os
import sys
from typing import Any

import numpy as np
import torch

from ...capture.operands import MISSING, parsed
from ...capture.origin import is_users
from .identity import ByIdentity
from .rows import values_of
from .watch import Watch

PART = "layout"
MOST_ROWS = 64
MOST_VALUES = 2_000_000  # read at once, where eight pictures are no more
LOOKS = 2  # calls of a model that are looked at
PLANES = (2, 3, 4)  # channels of a picture
LEAST_SIDE = 6
FAINT, SURE, FEWEST = -0.05, -8.0, 16  # mean logarithm of the ratio along either axis, in its standard errors, and pictures, to be told of faint structure


class Layout:
    """Compares neighbours as the shape has them with neighbours as channels-last memory would; one a watch."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.looked = ByIdentity()  # by module

    def root(self, module: Any, args: tuple[Any, ...]) -> None:
        """A model is called in a sampled step."""
        x = args[0] if args else None
        first = torch.is_tensor(x) and x.dim() == 4 and x.shape[1] in PLANES and min(x.shape[2:]) >= LEAST_SIDE
        last = torch.is_tensor(x) and x.dim() == 4 and x.shape[3] in PLANES and min(x.shape[1:3]) >= LEAST_SIDE  # as Keras has them
        if not (first or last) or len(x) < 8 or self.looked.get(module, 0) >= LOOKS:
            return
        self.looked[module] = self.looked.get(module, 0) + 1
        values = values_of(x[: max(8, min(MOST_ROWS, MOST_VALUES // x[0].numel()))].float())
        if values is None or not np.isfinite(values).all() or values.std() == 0:
            return
        _, c, h, w = shape = tuple(x.shape) if first else (len(x), x.shape[3], *x.shape[1:3])
        told = {"shape": list(shape), **roughness(values)} if first else {}
        planar = planes(values.transpose(0, 2, 3, 1) if first else values)
        if told.get("images", 0) >= 0.9:
            self.tell(told, reshaped((c, h, w)))
        elif told and told["counted"] >= FEWEST and told["faint"] <= FAINT and told["sure"] <= SURE and (line := reshaped((c, h, w))) is not None:
            self.tell(told, line)
        elif planar["images"] >= 0.8:
            self.tell({"shape": list(shape), **planar}, reshaped((h, w, c)))

    def tell(self, told: dict[str, Any], line: dict[str, Any] | None) -> None:
        """The fact `input_layout`."""
        where = {"file": line["file"], "line": line["line"]} if line else {}
        self.recorder.fact("input_layout", {**told, "text": line["text"] if line else None, "array": line["array"] if line else None}, **where)


def roughness(x: np.ndarray) -> dict[str, Any]:
    """Mean squared difference of neighbours, over twice the variance (1 is noise): as given, and with the same memory read channels last."""
    n, c, h, w = x.shape
    y = np.ascontiguousarray(x).reshape(n, h, w, c)
    variance = 2 * x.var()
    by_axis = [(step(x, 2), step(y, 1)), (step(x, 3), step(y, 2))]
    given, last = (sum(pair[i] for pair in by_axis) for i in (0, 1))
    with np.errstate(all="ignore"):
        ratios = [np.log(b / a) for a, b in by_axis]
        sure = max(float(r.mean() / (r.std() / np.sqrt(n))) for r in ratios)
    return {
        "given": float(given.mean() / 2 / variance), "channels_last": float(last.mean() / 2 / variance),
        "images": float((last < 0.75 * given).mean()), "counted": n,
        "faint": max(float(r.mean()) for r in ratios), "sure": sure, "smoother": float((last < given).mean()),
    }  # fmt: skip


def planes(x: np.ndarray) -> dict[str, Any]:
    """The same of pictures that have their channels last, read one colour after the other.

    Both axes have to gain, since grey pictures gain along one; and the channels of a pixel have to differ as neighbours in a plane do: where they are
    copies of each other, a spectrogram that is smooth in time alone would gain along both.
    """
    n, h, w, c = x.shape
    y = np.ascontiguousarray(x).reshape(n, c, h, w)
    variance = 2 * x.var()
    given, planar = (step(x, 1), step(x, 2)), (step(y, 2), step(y, 3))
    copies = step(x, 3).mean() < 0.5 * planar[1].mean()
    return {
        "given": float(sum(given).mean() / 2 / variance), "planar": float(sum(planar).mean() / 2 / variance),
        "gain": max(float(p.mean() / max(g.mean(), 1e-12)) for g, p in zip(given, planar)),
        "images": 0.0 if copies else float(np.all([p < 0.8 * g for g, p in zip(given, planar)], axis=0).mean()), "counted": n,
    }  # fmt: skip


def step(x: np.ndarray, axis: int) -> np.ndarray:
    """By picture, the mean squared difference along an axis."""
    d = np.diff(x, axis=axis)
    return (d * d).reshape(len(x), -1).mean(axis=1)


def reshaped(shape: tuple[int, ...]) -> dict[str, Any] | None:
    """The line of the person's files that reshapes something to pictures of that shape, the first of one file; None if there is none."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not is_users(file):
            continue
        for node in ast.walk(parsed(file) or ast.Module(body=[], type_ignores=[])):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("reshape", "view", "unflatten"):
                sizes = sizes_of(node, vars(module))
                if len(sizes) >= 3 and all(s in (MISSING, -1, want) for s, want in zip(sizes[-3:], shape)) and sizes[-3] == shape[0]:
                    where = {"file": os.path.abspath(file), "line": node.lineno}
                    found[where["file"], node.lineno] = {**where, "text": ast.unparse(node)[:200], "array": array_of(node)}
    return found[min(found)] if len({file for file, _ in found}) == 1 else None


def array_of(node: ast.Call) -> str | None:
    """What is reshaped: `x` of x.reshape(..) or of np.reshape(x, ..)."""
    owner = node.func.value  # type: ignore[attr-defined]
    if isinstance(owner, ast.Name) and owner.id in ("np", "numpy", "torch") and node.args:
        owner = node.args[0]
    return ast.unparse(owner) if isinstance(owner, (ast.Name, ast.Attribute)) else None


def sizes_of(node: ast.Call, names: dict[str, Any]) -> list[Any]:
    """The sizes that a reshape names, as far as constants of the module say."""
    parts = [p for a in node.args for p in (a.elts if isinstance(a, (ast.Tuple, ast.List)) else [a])]
    return [size(p, names) for p in parts if not isinstance(p, ast.Starred)]


def size(node: ast.expr, names: dict[str, Any]) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -1
    value = names.get(node.id, MISSING) if isinstance(node, ast.Name) else MISSING
    return value if isinstance(value, int) else MISSING


def install(watch: Watch) -> None:
    """Look at the first calls of a model."""
    if watch.recorder.wants("input_layout"):
        layout = Layout(watch)
        watch.hang("on_root", PART, layout.root)
