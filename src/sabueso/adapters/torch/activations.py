"""Activations on sampled steps: what every layer puts out, which units are dead, saturated or constant, and what feeds what."""

from __future__ import annotations

from typing import Any

import torch

from ...capture.kernel import BAD, NORM, SUM, Kernel
from ...places import Place
from .trace import Made, is_plain
from .watch import Watch

PART = "activations"
RECTIFIERS = frozenset({"relu", "relu6", "threshold", "clamp_min", "hardtanh"})
SQUASHERS = {"tanh": (-1.0, 1.0), "sigmoid": (0.0, 1.0), "hardsigmoid": (0.0, 1.0), "softsign": (-1.0, 1.0)}
PERIODIC = frozenset({"sin", "cos"})
LINEAR = frozenset({"linear", "addmm", "matmul", "mm", "bmm", "conv1d", "conv2d", "conv3d", "einsum"})
# what leaves a linear map linear: nothing between two linear layers but these means that one layer would do
TRANSPARENT = frozenset({"view", "reshape", "flatten", "squeeze", "unsqueeze", "contiguous", "to", "dropout", "identity", "add", "radd", "T", "mT",
                         "transpose", "permute", "Flatten", "Dropout", "Identity", "Unflatten", "clone"})  # fmt: skip
VIEWS = frozenset({"view", "reshape", "squeeze", "unsqueeze", "contiguous", "to", "t", "T", "mT", "transpose", "permute", "expand"})
PRODUCTS = frozenset({"matmul", "__matmul__", "__rmatmul__", "bmm", "baddbmm", "einsum", "mul", "__mul__", "__rmul__", "multiply", "mul_", "__imul__",
                      "scaled_dot_product_attention"})  # fmt: skip
NORMS = ("BatchNorm", "SyncBatchNorm")
EDGE = 0.01  # of the range from its end: there the slope of tanh is below 4 % of its largest, that of a sigmoid below 4 %
ROWS = 2048  # of a batch (rows, or rows times places) that are read
MOST_SITES = 300
NAMES = ("output_mean", "output_std", "output_nonfinite", "units_dead", "units_constant", "units_saturated")


class Activations:
    """Reads outputs as they appear, since the next operation may overwrite them in place."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder, self.kernel = watch, watch.recorder, Kernel()
        self.numbers: dict[Any, dict[str, int | None]] = {}
        self.pairs: list[tuple[int, float]] = []
        self.norms: dict[str, int] = {}
        self.chains: list[tuple[Made, Made]] = []  # linear maps fed by linear maps, until the forward pass is done

    @property
    def on(self) -> bool:
        """A training step is sampled and this is its forward pass."""
        return self.watch.armed and not self.watch.evaluating and torch.is_grad_enabled()

    # ---- seen

    def module(self, module: Any, args: tuple[Any, ...], result: Any) -> None:
        """A module returned: the output of a layer that has weights of its own or no children."""
        if not self.on or (module._modules and not module._parameters):
            return
        output = result[0] if isinstance(result, (tuple, list)) and result else result
        if not torch.is_tensor(output) or not readable(output):
            return
        name, cls = self.watch.parts["modules"].label(module), type(module).__name__
        if cls.startswith(NORMS) and module.training and args and torch.is_tensor(args[0]):
            self.norm(module, name, cls, args[0])
        if not module._parameters:
            return  # activations are seen as operations
        numbers = self.series(("module", id(module)), Place(stage="train", module=name))
        row = self.kernel.statistics([output.detach()])[0]
        self.put(numbers, spread(row, output.numel()))
        if cls in ("RNN", "LSTM", "GRU"):
            low, high = (0.0, float("inf")) if getattr(module, "nonlinearity", "tanh") == "relu" else (-1.0, 1.0)
            self.put(numbers, {"units_saturated": saturated(output.detach(), low, high)} if high == 1.0 else {})

    def operation(self, name: str, func: Any, args: Any, kwargs: Any, result: Any, outputs: list[Any]) -> None:
        """An operation returned: activation functions, and linear maps fed by linear maps."""
        if not self.on or not outputs:
            return
        if name in RECTIFIERS or name in SQUASHERS or (name == "clamp" and given(args, kwargs, "min", 1) == 0):
            self.activation(name, outputs[0])
        elif name in PERIODIC and torch.is_tensor(args[0]):
            self.activation(name, outputs[0], args[0])
        elif name in LINEAR:
            self.linear(outputs[0])

    def activation(self, name: str, output: Any, periodic: Any = None) -> None:
        """Dead, constant and saturated units of an activation function's output. A sine is one only of what layers give it, not of data."""
        made = self.watch.parts["trace"].of(output)
        if made is None or not readable(output) or output.dim() < 2 or len(self.numbers) > MOST_SITES:
            return
        source = first_weighted(made)
        if periodic is not None and (source is made or not source.grad or source.op not in LINEAR):
            return
        own = self.label(made.module)
        key = ("op", name, id(made.module), source.module and id(source.module), made.line)
        fresh = key not in self.numbers
        place = Place(stage="train", module=own or (self.label(source.module)), **(made.line.place if made.line else {}))
        numbers = self.series(key, place)
        if fresh:
            fed_by = {"module": self.label(source.module), "op": source.op} if source is not made else None
            value = {"kind": name, "fed_by": fed_by, "shape": list(output.shape), "module": place.module}
            if periodic is not None:
                value |= {"spread": float(periodic.detach().std()), "deep": any(p.grad and not weight(p) for p in source.parents)}
            self.recorder.fact("activation", value, place, step=self.watch.step)
        flat = units(output.detach(), made, source)
        if flat.shape[0] < 2:
            return
        low, high = torch.aminmax(flat, dim=0)
        values = {"units_constant": share((high - low) <= 1e-6 * torch.maximum(high.abs(), low.abs()))}
        if name in SQUASHERS:
            values["units_saturated"] = saturated(flat, *SQUASHERS[name])
        elif periodic is None:
            values["units_dead"] = share((high == 0) & (low == 0))
        self.put(numbers, values)

    def linear(self, output: Any) -> None:
        """A linear map whose input is another one's output, with nothing between that bends it."""
        made = self.watch.parts["trace"].of(output)
        below = straight(made) if made is not None and any(weight(p) for p in made.parents) else None  # to average over neighbours is no layer
        if below is None or made.module is below.module:
            return
        key = ("chain", id(made.module), id(below.module), made.line)
        if self.recorder.once("torch", *key):
            self.chains.append((made, below))

    def tell_chains(self) -> None:
        """Those whose end is not multiplied by what else the input gives: queries, keys, values and gates bend by their product."""
        chains, self.chains = self.chains, []
        bent = multiplied(self.watch.parts["trace"].order) if chains else set()
        for made, below in chains:
            if id(made) not in bent:
                self.chain(made, below)

    def chain(self, made: Made, below: Made) -> None:
        """Fact linear_chain."""
        value = {"module": self.label(made.module), "fed_by": self.label(below.module), "op": made.op, "width": below.shape[-1] if below.shape else None,
                 "into": made.shape[-1] if made.shape else None, "from": width_in(below), "classes": [type(below.module).__name__, type(made.module).__name__],
                 "built": [self.watch.parts["modules"].line_of(m) if m is not None else None for m in (below.module, made.module)]}  # fmt: skip
        held = {id(m) for p in self.watch.parts["modules"].built if isinstance(p, torch.nn.Sequential) for m in p._modules.values()}
        value["by_hand"] = below.line is not None and below.line.code.co_name == "forward" and not {id(below.module), id(made.module)} & held
        where = below.line.place if below.line else {}
        self.recorder.fact("linear_chain", value, step=self.watch.step, stage="train", module=value["fed_by"], **where)

    def norm(self, module: Any, name: str | None, cls: str, value: Any) -> None:
        """Series norm_rows: over how many values a batch normalisation takes its moments."""
        rows = value.numel() // value.shape[1] if value.dim() > 1 and value.shape[1] else value.shape[0]
        numbers = self.series(("norm", id(module)), Place(stage="train", module=name, **line_place(self.watch, module)), ("norm_rows",))
        self.put(numbers, {"norm_rows": float(rows)})

    # ---- kept

    def series(self, key: Any, place: Place, names: tuple[str, ...] = NAMES) -> dict[str, int | None]:
        """The series of one site, asked for when they are first written."""
        if key not in self.numbers:
            self.numbers[key] = {n: None for n in names}
            self.numbers[key]["place"] = place  # type: ignore[assignment]
        return self.numbers[key]

    def put(self, numbers: dict[str, Any], values: dict[str, float]) -> None:
        for name, value in values.items():
            if numbers.get(name) is None:
                numbers[name] = self.recorder.series(name, numbers["place"])
            if numbers[name] is not None:
                self.pairs.append((numbers[name], float(value)))

    def flush(self, *_: Any) -> None:
        """The step's backward begins: write what was read."""
        self.tell_chains()
        if self.pairs:
            self.recorder.points(self.watch.step, self.pairs)
            self.pairs = []

    def label(self, module: Any) -> str | None:
        return self.watch.parts["modules"].label(module) if module is not None else None


def readable(tensor: Any) -> bool:
    """A dense float tensor on the CPU with something in it."""
    return is_plain(tensor) and tensor.is_floating_point() and tensor.numel() > 0


def spread(row: Any, size: int) -> dict[str, float]:
    """Mean, standard deviation and non-finite count out of a row of the kernel."""
    mean = row[SUM] / size
    return {"output_mean": mean, "output_std": max(row[NORM] ** 2 / size - mean**2, 0.0) ** 0.5, "output_nonfinite": row[BAD]}


def units(output: Any, made: Made, source: Made) -> Any:
    """Rows by units: the axis of channels is the second where a convolution feeds it, else the last."""
    convolved = output.dim() == 4 or output.dim() == 3 and source.op in ("conv1d", "batch_norm")
    flat = (output.movedim(1, -1) if convolved else output).reshape(-1, output.shape[1] if convolved else output.shape[-1])
    return flat if flat.shape[0] <= ROWS else flat[:: flat.shape[0] // ROWS + 1]


def saturated(values: Any, low: float, high: float) -> float:
    """Share of values within a hundredth of the ends of their range."""
    edge = EDGE * (high - low) / 2
    return share((values > high - edge) | (values < low + edge))


def share(mask: Any) -> float:
    return float(mask.double().mean())


def first_weighted(made: Made) -> Made:
    """The layer or linear map before an activation: the nearest ancestor with weights, at most four operations away."""
    here_, seen = made, 0
    while seen < 4:
        flows = [p for p in here_.parents if p.op not in ("parameter", "leaf")]
        if not flows:
            return here_ if here_ is not made else made
        here_, seen = flows[0], seen + 1
        if here_.op in LINEAR or (here_.module is not None and here_.module is not made.module and here_.module._parameters):
            return here_
    return here_


def straight(made: Made) -> Made | None:
    """The linear map that feeds this one with nothing between that bends, else None."""
    here_ = flow(made)
    for _ in range(8):
        if here_ is None:
            return None
        if here_.op in LINEAR and any(weight(p) for p in here_.parents):
            return here_
        if here_.op not in TRANSPARENT or len(streams(here_)) > 1:
            return None
        here_ = flow(here_)
    return None


def multiplied(order: list[Made]) -> set[int]:
    """The linear maps whose outputs meet another one's, or what comes of the input, in a product."""
    found: set[int] = set()
    for made in order:
        factors = streams(made)
        if made.op not in PRODUCTS or len(factors) < 2:
            continue
        for p in factors:
            here_: Made | None = p
            for _ in range(8):
                if here_ is None or here_.op in LINEAR:
                    break
                here_ = flow(here_)
            if here_ is not None:
                found.add(id(here_))
    return found


def flow(made: Made) -> Made | None:
    """The one operand of a linear map that is no parameter."""
    flows = streams(made)
    return flows[0] if len(flows) == 1 else None


def streams(made: Made) -> list[Made]:
    """The operands of an operation that are neither data as they came nor weights."""
    return [p for p in made.parents if p.op != "leaf" and not weight(p)]


def weight(made: Made) -> bool:
    """Is it a parameter, or a parameter seen with other axes?"""
    for _ in range(4):
        if made.op == "parameter":
            return True
        if made.op not in VIEWS or len(made.parents) != 1:
            return False
        made = made.parents[0]
    return False


def width_in(made: Made) -> int | None:
    """Width of what a linear map is given."""
    data = [p for p in made.parents if not weight(p)]
    return data[0].shape[-1] if data and data[0].shape else None


def given(args: Any, kwargs: Any, name: str, position: int) -> Any:
    return kwargs.get(name, args[position] if len(args) > position else None)


def line_place(watch: Watch, module: Any) -> dict[str, Any]:
    """Where a module was built, as parts of a place."""
    line = watch.parts["modules"].built.get(module)
    return dict(line.place) if line else {}


def install(watch: Watch) -> None:
    """Hang on the modules and operations of sampled steps."""
    activations = Activations(watch)
    watch.parts[PART] = activations
    watch.hang("on_module", PART, activations.module)
    watch.hang("on_operation", PART, activations.operation)
    watch.hang("on_backward", PART, activations.flush, sampled=True)
