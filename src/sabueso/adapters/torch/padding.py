"""Padding: token numbers filled up to one width, and whether anything between them and the loss knows which are filling."""

from __future__ import annotations

from typing import Any

import torch

from ...capture.around import Patches
from .inputs import summary
from .lines import here, named
from .modules import Modules
from .trace import Made, Trace, is_plain, tensors_in
from .watch import Watch

PART = "padding"
TIMES = 4
MASKS = frozenset({torch.bool, torch.int64, torch.int32, torch.float32})
KNOWS = frozenset({"masked_fill", "where", "pack_padded_sequence", "gather", "masked_select", "nonzero", "take_along_dim", "masked_scatter", "embedding_bag"})
PICKS = frozenset({"gather", "take_along_dim"})  # they may as well look something up that has no filling (BERT does so with the kinds of its tokens)
RECURRENT = frozenset({"gru", "lstm", "rnn_tanh", "rnn_relu"})
ATTENDS = frozenset({"softmax", "scaled_dot_product_attention"})
CELLS = frozenset({"gru_cell", "lstm_cell", "rnn_tanh_cell", "rnn_relu_cell"})
LOOPS = frozenset({"GRU", "LSTM", "SimpleRNN"})  # of Keras, which walks through the steps itself
LOOKUPS = frozenset({"embedding", "index_select", "take"})
POOLS = frozenset({"mean", "sum", "avg_pool1d", "adaptive_avg_pool1d", "nanmean"})


class Padding:
    """Follows integer inputs to the loss of a sampled step."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.modules: Modules = watch.parts["modules"]
        self.trace: Trace = watch.parts["trace"]
        self.found: list[tuple[Made, dict[str, Any], Any]] = []
        self.told: dict[Any, int] = {}
        self.filled: dict[str, Any] | None = None

    def clear(self) -> None:
        self.found = []

    def padded(self, _: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """pad_sequence returned: how long the sequences were, and which one set the width."""
        sequences = args[0] if args else kwargs.get("sequences")
        if not isinstance(sequences, (list, tuple)) or len(sequences) < 8 or (self.filled and self.filled["rows"] >= len(sequences)):
            return
        lengths = torch.tensor([len(s) for s in sequences])
        order = lengths.argsort(descending=True)
        usual = float(lengths.double().quantile(0.99)) if len(lengths) < 1_000_000 else float(lengths.double().mean())
        far = [int(i) for i in order[:50] if float(lengths[i]) > 3 * usual]
        line = here()
        self.filled = {"rows": len(sequences), "width": int(lengths.max()), "usual": usual, "median": float(lengths.double().median()), "far": far,
                       "line": line.told if line else None, "name": named(sequences)}  # fmt: skip

    def forward(self, root: Any, inputs: Any, outputs: Any) -> None:
        """A model was called in a sampled step: keep the record (never the tensor) of its padded inputs."""
        for tensor in tensors_in(inputs)[:4]:
            if tensor.dim() != 2 or tensor.dtype == torch.bool or tensor.shape[1] < 8 or not is_plain(tensor):
                continue
            as_float = tensor.is_floating_point()  # Keras casts token numbers to the dtype of its input, and back where it looks them up
            if as_float and not bool(((tensor == tensor.round()) & (tensor >= 0)).all()):
                continue
            told, made = summary(tensor.detach().int() if as_float else tensor) | {"as_float": as_float}, self.trace.of(tensor)
            if made is not None and 0.3 < told.get("pad_share", 0) < 1:
                root = self.modules.root_of(root) or root
                told.update(model=self.modules.label(root), name=self.input_name(root, tensor), **self.beside(tensor, inputs))
                self.found.append((made, told, root))

    def input_name(self, root: Any, tensor: Any) -> str | None:
        return named(tensor)

    def beside(self, ids: Any, inputs: Any) -> dict[str, Any]:
        """Was a mask given beside the padded numbers, and does it say of every place, filling too, that it counts? Where it was made, if seen."""
        told: dict[str, Any] = {"idle": False, "made": None, "masks": []}
        for mask in tensors_in(inputs)[:6]:
            if mask is ids or mask.shape != ids.shape or mask.dtype not in MASKS or not is_plain(mask) or not bool(((mask == 0) | (mask == 1)).all()):
                continue
            if bool((mask == 1).all()):
                made = self.trace.of(mask)
                lines = [m.line for m in made.ancestors(8) if m.line is not None] if made is not None else []
                told |= {"idle": True, "made": lines[-1] if lines else None}
            else:
                told["masks"].append(self.trace.of(mask) or self.trace.leaf(mask))
        return told | {"idle": told["idle"] and not told["masks"]}

    def backward(self, tensors: tuple[Any, ...], _: Any) -> None:
        """Does the loss depend on them through something that knows of the filling?"""
        found, self.found = self.found, []
        for tensor in tensors if self.watch.armed else ():
            loss = self.trace.of(tensor) if torch.is_tensor(tensor) else None
            if loss is None:
                continue
            leads = list(loss.ancestors())
            for made, told, _ in found:
                if any(m is made for m in leads):
                    self.tell(made, told, leads)

    def tell(self, ids: Made, told: dict[str, Any], leads: list[Made]) -> None:
        """The fact `padding`."""
        key = (told["model"], told["shape"][1])
        self.told[key] = self.told.get(key, 0) + 1
        if self.told[key] > TIMES:
            return
        after = following(self.trace.order, ids, leads)
        if told["as_float"] and not any(m.op in LOOKUPS for m in after):
            return
        used = any(p is mask for mask in told["masks"] for m in self.trace.order for p in m.parents)
        masked = used or minds(leads, after, told["idle"])
        width, rows = told["shape"][1], told["shape"][0]
        pool = next((m for m in after if pools(m, rows, width)), None) or last_state(after, rows, width)
        pool = pool or (next((m for m in after if m.op in ATTENDS), None) if told["idle"] else None)
        masked = masked or pool is not None and pool.op in POOLS and adds_nothing(pool, told["pad"])
        table = next((m.module for m in after if hasattr(m.module, "mask_zero")), None)  # of Keras
        value = {k: told[k] for k in ("model", "name", "shape", "pad", "pad_share", "padded_rows", "longest", "median_length", "side")}
        filled = self.filled if self.filled and self.filled["width"] == width else None
        value |= {"masked": masked, "idle_mask": told["idle"], "mask_unused": bool(told["masks"]) and not used}
        value |= {"pool": name_of(pool), "filled": filled, "mask_zero": bool(table.mask_zero) if table is not None else None}
        module = self.modules.label(pool.module) if pool is not None and pool.module is not None else None
        line = told["made"] if told["idle"] and told["made"] is not None else pool.line if pool is not None else None
        line = self.modules.built.get(table) or line
        where = line.place if line is not None else {}
        self.recorder.fact("padding", value, step=self.watch.step, stage="train", module=module, tensor=told["name"], **where)


def following(order: list[Made], ids: Made, leads: list[Made]) -> list[Made]:
    """What leads to the loss and comes of the token numbers."""
    inside, children = {id(m) for m in leads}, {id(ids)}
    found = []
    for m in order:
        if id(m) in inside and any(id(p) in children for p in m.parents):
            children.add(id(m))
            found.append(m)
    return found


def minds(leads: list[Made], after: list[Made], idle: bool) -> bool:
    """Does anything that leads to the loss look like a mask, or like a choice by length?"""
    children, wraps = {id(m) for m in after}, wrapped(leads)
    marks = [m for m in leads if m.op != "leaf" and id(m) not in wraps and m.shape]  # a single number marks no places
    knowing = any(m.op in KNOWS and (m.op not in PICKS or id(m) in children) or m.dtype == torch.bool for m in marks)
    return not idle and knowing or any(p.dtype == torch.bool and p.shape and id(p) not in wraps for m in after for p in m.parents)


def adds_nothing(pool: Made, pad: int) -> bool:
    """Is what is added up looked up in a table whose row for the filling is all zeros, as `padding_idx` keeps it?"""
    source = pool.parents[0]
    table = next((p.ref() for p in source.parents if p.op == "parameter" and len(p.shape) == 2), None) if source.op == "embedding" else None
    return table is not None and is_plain(table) and 0 <= pad < len(table) and not bool(table.detach()[pad].any())


def wrapped(leads: list[Made]) -> set[int]:
    """Numbers of rows counted from the end where they are negative, as Keras does before it looks them up: a choice, and a comparison for it, but no mask."""
    found = {id(m) for m in leads if m.op == "where" and not m.dtype.is_floating_point and any(p.op in ("lt", "ge") for p in m.parents[:1])}
    users: dict[int, set[int]] = {}
    for m in leads if found else ():
        for p in m.parents:
            if p.dtype == torch.bool:
                users.setdefault(id(p), set()).add(id(m))
    return found | {p for p, by in users.items() if by <= found}


def last_state(after: list[Made], rows: int, width: int) -> Made | None:
    """The end of a loop over all places, whose last state alone goes on."""
    loops = [m for m in after if type(m.module).__name__ in LOOPS and getattr(m.module, "return_sequences", None) is False]
    if loops and not any(getattr(m.module, "go_backwards", False) for m in loops) and list(loops[-1].shape[:1]) == [rows] and len(loops[-1].shape) == 2:
        return loops[-1]
    cells = [m for m in after if m.op in CELLS]
    if len(cells) < width - 8 or not cells:
        return None
    known, each = {id(m): i for i, m in enumerate(cells)}, -(-len(cells) // width)  # records a step: both states of an LSTM, several layers
    used = [known[id(p)] for m in after if m.op not in CELLS for p in m.parents if id(p) in known]
    return cells[-1] if used and min(used) >= len(cells) - each else None


def name_of(pool: Made | None) -> str | None:
    """What it is called, for people."""
    if pool is None:
        return None
    return type(pool.module).__name__ if pool.module is not None and type(pool.module).__name__ in LOOPS and pool.op not in RECURRENT else pool.op


def pools(made: Made, rows: int, width: int) -> bool:
    """Does an operation make one vector a row out of all places of it, filling included?"""
    source = made.parents[0].shape if made.parents else ()
    if made.op in POOLS and len(source) == 3 and len(made.shape) <= 3:
        axis = next((i for i in (1, 2, 0) if source[i] != rows and abs(source[i] - width) <= 8), None)
        kept = made.shape
        return axis is not None and (
            len(kept) == 2 and width - 8 > max(kept[-1], 0) or len(kept) == 2 and source[axis] not in kept or (len(kept) == 3 and kept[axis] == 1)
        )
    if made.op in RECURRENT:  # its last state, not the sequence of its outputs
        return len(made.shape) == 3 and made.shape[1] == rows and made.shape[0] not in (rows, width)
    return False


def install(watch: Watch) -> None:
    """Hang on sampled steps and on pad_sequence."""
    padding = Padding(watch)
    patches = Patches()
    patches.around(torch.nn.utils.rnn, "pad_sequence", None, watch.guard(PART)(padding.padded))
    watch.at_undo(patches.undo)
    watch.hang("on_forward", PART, padding.forward)
    watch.hang("on_backward", PART, padding.backward, sampled=True)
    watch.hang("on_arm", PART, padding.clear)
