"""Sources: which array or table of the program a model's inputs were made from, told by content where their scale is odd.

Looked for once a model, and only where an input's spread is far from what initialisers are made for, or a binary target leaves 0 to 1.
"""

from __future__ import annotations

import ast
import inspect
import os
import sys
from typing import Any

import numpy as np
import torch

from ...capture.origin import is_users
from .lines import here, named
from .modules import Modules
from .trace import Trace, is_plain, tensors_in
from .watch import Watch

PART = "sources"
TIMES = 2
APPLIES = frozenset({"matmul", "mm", "mv", "linear", "addmm"})
CONVOLVES = frozenset({"conv1d", "conv2d", "conv3d"})
MOST_VALUES = 2_000_000
NARROW, WIDE = 0.1, 30.0  # of an input's spread (root mean square): 1 is what initialisers are made for, pictures in 0 to 1 have 0.3 to 0.5
USUAL = 0.75  # of the rows are at most at the level told: a few rows far out are outliers, no scale
GRID = np.linspace(0.02, 0.98, 33)
SAME = 0.02  # of the spread: largest difference between the standardised quantiles of a column and of its source


class Sources:
    """Describes the inputs of odd scale and what they were made from."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.modules: Modules = watch.parts["modules"]
        self.trace: Trace = watch.parts["trace"]
        self.told: dict[int, int] = {}
        self.scaled: set[int] = set()  # models that bring their input to a usual scale themselves, before their first layer

    def forward(self, root: Any, inputs: Any, outputs: Any) -> None:
        """A model was called in a sampled step."""
        root = self.modules.root_of(root) or root
        given = next((t for t in tensors_in(inputs) if t.is_floating_point()), None)
        if id(root) not in self.scaled:
            self.given(given, id(root), self.modules.label(root))

    def operation(self, name: str, func: Any, args: Any, kwargs: Any, result: Any, outputs: list[Any]) -> None:
        """Data meets a trained weight: the input of a model of bare tensors, or what a model has made of its input before its first layer."""
        if name not in APPLIES and name not in CONVOLVES or self.watch.evaluating or len(args) < 2 or not all(map(torch.is_tensor, args[:2])):
            return
        made, weight = self.trace.of(args[0]), args[1]
        if weight.requires_grad and weight.is_leaf and args[0].requires_grad and made is not None and self.trace.stack:
            self.beside_embeddings(args[0], made)
        if not weight.requires_grad or not weight.is_leaf or args[0].requires_grad or made is not None and made.lost:
            return
        if not self.trace.stack:
            self.given(args[0], id(weight), named(weight) or "the first weight")
        elif made is not None:  # not the input itself, which is told when the call has returned
            root = self.modules.root_of(self.trace.stack[0]) or self.trace.stack[0]
            if self.given(args[0], id(root), self.modules.label(root)) is False:
                self.scaled.add(id(root))

    def beside_embeddings(self, given: Any, made: Any) -> None:
        """What the first layer is given where learnt rows of a table stand beside the columns: is it of a usual scale?"""
        root = self.modules.root_of(self.trace.stack[0]) or self.trace.stack[0]
        if id(root) in self.scaled or not is_plain(given) or given.dim() < 2 or not given.numel():
            return
        if not any(m.op in APPLIES or m.op in CONVOLVES for m in made.ancestors(60)) and not odd(given.detach()[:2048].double()):
            self.scaled.add(id(root))

    def given(self, given: Any, key: int, label: str | None) -> bool | None:
        """What a model was given, told where its scale is odd; was it? None where that can't be said."""
        if given is None or not is_plain(given) or given.requires_grad or given.dim() < 2 or not given.numel() or self.told.get(key, 0) >= TIMES:
            return None
        if not given.is_floating_point():
            return None
        x = given.detach()[:2048].double()
        if not bool(torch.isfinite(x).all()):
            return None
        columns = x.reshape(len(x), -1)
        if not odd(x):
            return False
        spread, level = scale_of(x)
        self.told[key] = self.told.get(key, 0) + 1
        line = here()
        value: dict[str, Any] = {
            "model": label, "name": named(given), "shape": list(given.shape), "spread": spread, "level": level, "low": float(x.min()),
            "high": float(x.max()), "source": self.source(given), "integers": bool((x == x.round()).all()), "columns": self.columns(given, columns),
        }  # fmt: skip
        self.recorder.fact("input_scale", value, step=self.watch.step, stage="preprocess", module=value["model"], **(line.place if line else {}))
        return True

    # ---- what the inputs were made from

    def source(self, given: Any) -> dict[str, Any] | None:
        """The dataset's array, or the person's variable, with the range it has, its name and the line that sets it."""
        shape = tuple(given.shape[1:])
        best = None
        for name, owner, array in self.arrays():
            if array.ndim >= 2 and len(array) > 8 and int(np.prod(array.shape[1:])) == int(np.prod(shape)) and array.dtype.kind in "fiu":
                low, high = float(np.nanmin(array)), float(np.nanmax(array))
                told = {"name": name, "dtype": str(array.dtype), "low": low, "high": high, "rows": len(array), "line": set_at(owner, name)}
                if best is None or owner is not None and best["line"] is None:
                    best = told
        return best

    def arrays(self) -> list[tuple[str, Any, np.ndarray]]:
        """Arrays held by the dataset that is being read, then by the person's frames: (name, owner, array)."""
        found: list[tuple[str, Any, np.ndarray]] = []
        loader = self.watch.parts.get("loader")
        recent = getattr(loader, "recent", None) or ()
        dataset = recent[-1].dataset if recent else None
        for _ in range(4):
            if dataset is None:
                break
            for name, value in list(getattr(dataset, "__dict__", {}).items()):
                for part in value if isinstance(value, (tuple, list)) and len(value) <= 8 else (value,):
                    array = as_array(part)
                    if array is not None:
                        found.append((name, dataset, array))
            dataset = getattr(dataset, "dataset", None)
        frame = sys._getframe(1)
        while frame is not None:
            if is_users(frame.f_code.co_filename):
                for name, value in list(frame.f_locals.items()):
                    array = as_array(value)
                    if array is not None:
                        found.append((name, None, array))
            frame = frame.f_back  # type: ignore[assignment]
        return found

    def columns(self, given: Any, columns: Any) -> list[dict[str, Any]]:
        """The columns of an input whose values are far larger than the others', with the table's column that each was made from."""
        width = columns.shape[1]
        if given.dim() != 2 or width > 400:
            return []
        peaks = columns.abs().amax(0)
        usual = float(peaks.median())
        odd = [j for j in range(width) if float(peaks[j]) > WIDE and float(peaks[j]) > 20 * usual]
        if not odd or len(odd) > width / 2:
            return []
        whole = next((a for n, o, a in self.arrays() if a.ndim == 2 and a.shape[1] == width and len(a) > len(columns)), None)
        told = []
        for j in odd[:12]:
            values = whole[:, j] if whole is not None else columns[:, j].numpy()
            name, frame_rows = self.column_of(np.asarray(values, float))
            told.append(
                {
                    "index": j,
                    "name": name,
                    "peak": float(peaks[j]),
                    "usual": usual,
                    "mean": float(columns[:, j].mean()),
                    "std": float(columns[:, j].std()),
                    "table_rows": frame_rows,
                }
            )
        return told

    def column_of(self, values: np.ndarray) -> tuple[str | None, int | None]:
        """The column of a table in the person's frames whose distribution is that of `values`, scaled and shifted."""
        mine = shape_of(values)
        frame, best = sys._getframe(1), (SAME, None, None)
        while frame is not None and mine is not None:
            if is_users(frame.f_code.co_filename):
                for table in [v for v in list(frame.f_locals.values()) if hasattr(v, "columns") and hasattr(v, "select_dtypes")]:
                    for column in list(table.select_dtypes("number").columns)[:200]:
                        theirs = shape_of(table[column].to_numpy(dtype=float, na_value=np.nan))
                        if theirs is not None:
                            off = min(float(np.abs(mine - theirs).max()), float(np.abs(mine + theirs[::-1]).max()))
                            if off < best[0]:
                                best = (off, str(column), len(table))
            frame = frame.f_back  # type: ignore[assignment]
        return best[1], best[2]


def shape_of(values: np.ndarray) -> np.ndarray | None:
    """Quantiles of a column with its place and scale taken out."""
    values = values[np.isfinite(values)][:MOST_VALUES]
    if len(values) < 50:
        return None
    quantiles = np.quantile(values, GRID)
    spread = quantiles[-1] - quantiles[0]
    return (quantiles - quantiles.mean()) / spread if spread > 0 else None


def scale_of(x: Any) -> tuple[float, float]:
    """Spread and level of a table: the root mean square that most of its rows stay below."""
    return float(x.std(correction=0)), float(x.reshape(len(x), -1).pow(2).mean(1).quantile(USUAL).sqrt())


def odd(x: Any) -> bool:
    """Is its scale far from what initialisers are made for?"""
    spread, level = scale_of(x)
    return spread < NARROW or level > WIDE or float(x.abs().max()) > WIDE


def as_array(value: Any) -> np.ndarray | None:
    """A tensor or array of moderate size as NumPy sees it, without a copy."""
    if torch.is_tensor(value):
        if not is_plain(value) or value.requires_grad or value.dtype in (torch.bfloat16,) or value.numel() > MOST_VALUES * 10:
            return None
        return value.detach().numpy()
    return value if isinstance(value, np.ndarray) and value.dtype.kind in "fiu" and value.size <= MOST_VALUES * 10 else None


def set_at(owner: Any, name: str) -> list[Any] | None:
    """The line of the person's class that sets `self.name`, the last one in its __init__ first."""
    if owner is None:
        return None
    try:
        source, start = inspect.getsourcelines(type(owner))
        file = inspect.getsourcefile(type(owner))
        tree = ast.parse(inspect.cleandoc("".join(source)) if source[0][:1].isspace() else "".join(source))
    except (OSError, TypeError, SyntaxError):
        return None
    if file is None or not is_users(file):
        return None
    lines = [n.lineno for n in ast.walk(tree) if isinstance(n, (ast.Assign, ast.AugAssign, ast.AnnAssign)) for t in targets_of(n)
             if isinstance(t, ast.Attribute) and t.attr == name and isinstance(t.value, ast.Name)]  # fmt: skip
    return [os.path.abspath(file), start + max(lines) - 1] if lines else None


def targets_of(node: Any) -> list[Any]:
    """What an assignment sets."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [x for t in targets for x in (t.elts if isinstance(t, ast.Tuple) else [t])]


def install(watch: Watch) -> None:
    """Hang on the models' calls of sampled steps."""
    sources = Sources(watch)
    watch.parts["sources"] = sources
    watch.hang("on_forward", PART, sources.forward)
    watch.hang("on_operation", PART, sources.operation)
