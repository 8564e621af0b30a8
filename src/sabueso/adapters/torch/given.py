"""Given: values that were not finite before a step began: in the batch, in a parameter or buffer, in an array of the person's."""

from __future__ import annotations

import os
from types import FrameType
from typing import Any

import numpy as np
import torch

from ...capture import files
from .rows import FIRST, Held, Spot, base, called, held, made_at, values_of
from .watch import Watch


class Given:
    """Describes and traces them; one a sentinel."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder

    def facts(self, told: dict[str, Any], batch: Any, models: list[Any], frames: list[FrameType]) -> list[dict[str, Any]]:
        """One fact for each tensor that brought them in; where the replay could not run, for each that could have."""
        found = [b["tensor"] for b in told["births"][:1] if b["how"] == "given"]
        if not told["ran"]:
            found = [t for t in self.leaves(batch, models, frames) if is_bad(t)][:3]
        return [self.fact(t, batch, models, frames) for t in found]

    def leaves(self, batch: Any, models: list[Any], frames: list[FrameType]) -> list[Any]:
        """Tensors that a step starts from: the batch, parameters and buffers, and what the person's innermost frame holds."""
        loader = self.watch.parts.get("loader")
        parts = [t for t in (r() for r in loader.recent[-1].leaves) if t is not None] if loader is not None and loader.recent else []
        parts += [v for f in frames[:1] for v in f.f_locals.values() if torch.is_tensor(v) and v.grad_fn is None]
        masks = {id(b) for m in models for b in m.buffers() if not bool(torch.isnan(b.detach()).any())}  # infinities there are masks
        return parts + [t for m in models for t in [*m.parameters(), *m.buffers()] if id(t) not in masks]

    def fact(self, tensor: Any, batch: Any, models: list[Any], frames: list[FrameType]) -> dict[str, Any]:
        """Where the tensor belongs, which of its rows are not finite, and where they come from."""
        wrong = ~torch.isfinite(tensor.detach())
        rows = wrong.reshape(tensor.shape[0], -1).any(1).nonzero().flatten().tolist() if tensor.dim() else [0]
        told: dict[str, Any] = {"count": int(wrong.sum()), "nan": int(torch.isnan(tensor.detach()).sum()), "of": tensor.numel()}
        told.update(shape=list(tensor.shape), rows=rows[:FIRST], row_count=len(rows), step=self.watch.step)
        path = self.path(tensor, models)
        if path is not None:
            module, name = path
            kind = "parameter" if isinstance(tensor, torch.nn.Parameter) or tensor.requires_grad else "buffer"
            told.update(where=kind, module=module, tensor=name)
            told.update(self.stored(tensor, rows, frames))
            return told
        told.update(where="batch", tensor=self.name(tensor, frames))
        if tensor.dim() == 2:
            told["columns"] = wrong.any(0).nonzero().flatten().tolist()[:FIRST] if not bool(wrong.any(0).all()) else []
        self.sources(told, tensor, rows, frames)
        return told

    def path(self, tensor: Any, models: list[Any]) -> tuple[str, str] | None:
        """(module path, parameter's full name) of a tensor in one of the models."""
        for model in models:
            for name, held_tensor in [*model.named_parameters(), *model.named_buffers()]:
                if held_tensor is tensor or held_tensor.data_ptr() == tensor.data_ptr() and held_tensor.shape == tensor.shape:
                    return name.rpartition(".")[0] or type(model).__name__, name
        return None

    def name(self, tensor: Any, frames: list[FrameType]) -> str | None:
        return next((n for f in frames for n, v in f.f_locals.items() if v is tensor), None)

    def stored(self, tensor: Any, rows: list[int], frames: list[FrameType]) -> dict[str, Any]:
        """The array, file and line that a weight was loaded from, told by equal content."""
        values = values_of(tensor)
        if values is None or not rows:
            return {}
        probes = [k for k in range(0, len(values), max(1, len(values) // 5)) if k not in rows][:4] + rows[:1] if values.ndim > 1 else []
        for part in files.of(self.recorder).stored():
            if part.values.shape == values.shape and all(close(np.asarray(part.values[k]), values[k]) for k in probes) and probes:
                return {"source": os.path.basename(part.path), "key": part.key, "file": part.file, "line": part.line}
        for array in held(frames):
            if array.values.shape == values.shape and probes and all(close(array.values[k], values[k]) for k in probes):
                line = made_at(array)
                return {"source": array.name, "key": None, **({"file": line[0], "line": line[1]} if line else {})}
        return {}

    def sources(self, told: dict[str, Any], tensor: Any, rows: list[int], frames: list[FrameType]) -> None:
        """Rows of the batch taken back to the data as read, and what they are there."""
        finder = self.watch.parts.get("rows")
        spot = finder.locate({told["tensor"] or "batch": tensor}, rows, frames) if finder is not None and tensor.dim() else None
        if spot is None:
            spot = self.itself(tensor, rows, frames)
        if spot is None:
            return
        told["spot"] = spot.as_dict()
        column = column_of(rows if spot.held is None else spot.rows, spot.count, frames) if spot.column is None else None
        if column is not None:
            told["spot"]["column"] = column
        if spot.held is None and spot.index is not None:
            told.update(self.sample(spot, frames))
        if spot.held is not None and spot.rows and max(spot.rows) < len(spot.held.values):
            source = spot.held.values[np.asarray(spot.rows[:5])]
            flat = source.reshape(len(source), -1)
            low, high = (float(np.nanmin(flat)), float(np.nanmax(flat))) if flat.size else (None, None)
            constant = flat.shape[1] > 1 and bool((flat.min(axis=1) == flat.max(axis=1)).any())
            line = made_at(spot.held)
            if line is not None and "file" not in told["spot"] and not np.isfinite(source).all():
                told["spot"].update(file=line[0], line=line[1])
            if np.isfinite(source).all() and spot.index is not None:
                told.update(self.sample(spot, frames))
            told["in_source"] = {"finite": bool(np.isfinite(source).all()), "constant": constant, "min": low, "max": high}

    def itself(self, tensor: Any, rows: list[int], frames: list[FrameType]) -> Spot | None:
        """The tensor is no part of a larger one: its own rows, and those of the table that it was made of where that is known."""
        values, finder = values_of(tensor), self.watch.parts.get("rows")
        known = called(values, frames) if values is not None and values.ndim else None
        if known is None or finder is None:
            return None
        array = Held(known[0], values, None, known[1], tensor)
        return finder.as_read(Spot(rows[:FIRST], known[0], how="itself", count=len(rows), held=array), [array], frames)

    def sample(self, spot: Any, frames: list[FrameType]) -> dict[str, Any]:
        """The stored row is finite and the sample made of it is not: make it again with every operation watched."""
        loader, zoom = self.watch.parts.get("loader"), self.recorder.shared.get("zoom")
        dataset = loader.recent[-1].dataset if loader is not None and loader.recent else None
        if dataset is None or zoom is None or not frames:
            return {}
        inner, _ = base(dataset, [])
        birth = zoom.sample(lambda: inner[spot.index], frames[0])
        if birth is None or not birth.get("file"):
            return {}
        return {"made_by": {k: birth[k] for k in ("op", "text", "inputs", "bad", "of") if k in birth}, "file": birth["file"], "line": birth["line"]}


def column_of(rows: list[int], count: int, frames: list[FrameType]) -> str | None:
    """The one column of the person's tables that is not finite in just these rows."""
    if count > FIRST:
        return None
    names = set()
    for array in held(frames):
        if array.column is not None and array.values.dtype.kind == "f" and len(array.values) > max(rows):
            if np.array_equal(np.flatnonzero(~np.isfinite(array.values)), sorted(rows)):
                names.add(array.column)
    return names.pop() if len(names) == 1 else None


def is_bad(t: Any) -> bool:
    return t.is_floating_point() and t.layout == torch.strided and t.numel() > 0 and not bool(torch.isfinite(t.detach()).all())


def close(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal up to the rounding of a narrower type, NaN where NaN."""
    return a.shape == b.shape and bool(np.allclose(a.astype(np.float64), b.astype(np.float64), rtol=1e-3, atol=1e-6, equal_nan=True))
