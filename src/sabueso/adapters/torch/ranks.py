"""Ranks: what each process of a distributed training does, so that the ranks can be laid side by side.

Silent until a process group of more than one rank is there. We send nothing between ranks: each tells its own log, the checks compare.
"""

from __future__ import annotations

import hashlib
import sys
import weakref
from collections import Counter
from typing import Any

import torch

from .identity import ByIdentity
from .lines import Line, built_at, here, named
from .watch import Watch

PART = "ranks"
FIRST_BATCHES = 24  # training batches whose fingerprints are told
SAMPLED_BYTES = 4096  # of each tensor of a batch
SAMPLED_PARAMETERS = 48
VALUES = 4  # of each parameter
COLLECTIVES = (
    "all_reduce",
    "broadcast",
    "all_gather",
    "barrier",
    "reduce",
    "gather",
    "scatter",
    "all_gather_into_tensor",
    "reduce_scatter_tensor",
)
MOST_EPOCHS = 200


class Ranks:
    """State of one process."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.world = 1
        self.ddp = False
        self.reduces = 0  # gradients averaged by hand
        self.collectives: Counter[str] = Counter()
        self.built: dict[int, tuple[Any, Line | None]] = {}  # loaders: weak reference and line
        self.loader: dict[str, Any] | None = None  # of the one that batches are being trained on from
        self.pending: str | None = None  # fingerprint of a batch that may be trained on
        self.batches: list[str] = []
        self.starts: dict[str, Any] | None = None  # an epoch of a loader that may be one of training
        self.epochs = 0
        self.samplers: dict[int, dict[str, Any]] = {}
        self.models = ByIdentity()  # module -> the line that built it

    # ---- the group

    def joined(self, *_: Any) -> None:
        """A process group is there."""
        distributed = sys.modules["torch.distributed"]
        if distributed.is_initialized():
            self.recorder.rank, self.world = distributed.get_rank(), distributed.get_world_size()
            if self.world > 1 and self.recorder.once("torch", "rank weights"):
                self.watch.hang("before_step", PART, self.before_step)
            self.recorder.fact("rank", {"rank": self.recorder.rank, "world": self.world, "backend": str(distributed.get_backend())})

    def wrapped(self, _: Any, __: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A model was wrapped in DistributedDataParallel."""
        self.ddp = True

    def collective(self, name: str) -> Any:
        def before(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if self.world > 1:
                self.collectives[name] += 1
                tensor = args[0] if args else kwargs.get("tensor")
                if name == "all_reduce" and self.reduces < 64 and torch.is_tensor(tensor) and self._is_gradient(tensor):
                    self.reduces += 1

        return before

    def _is_gradient(self, tensor: Any) -> bool:
        parameters = [p for h in self.watch.optimizers.values() for p in h.parameters]
        grads = [p.grad for p in parameters if p.grad is not None]
        return any(g is tensor or g.data_ptr() == tensor.data_ptr() for g in grads) or tensor.numel() == sum(g.numel() for g in grads) > 1

    @property
    def averaging(self) -> bool:
        """Are gradients averaged over the ranks, so that all should have the same weights and other rows?"""
        return self.ddp or self.reduces > 0

    def module_built(self, module: Any, line: Line | None) -> None:
        """Remember where the models of a rank are built; only the outermost ones stay."""
        if self.world > 1:
            self.models[module] = line

    # ---- data

    def loader_built(self, _: Any, __: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.built[id(args[0])] = (weakref.ref(args[0]), built_at(args[0]))

    def loader_iterated(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """`for .. in loader` begins: an epoch, perhaps of training."""
        if self.world < 2:
            return
        loader = args[0]
        try:
            length = len(loader)
        except TypeError:
            length = None
        try:
            rows = len(loader.dataset)
        except TypeError:
            rows = None
        known = self.built.get(id(loader))
        line = known[1] if known is not None and known[0]() is loader else None
        self.starts = {"batches": length, "rows": rows, "batch_size": loader.batch_size, "drop_last": bool(loader.drop_last),
                       "loader": named(loader), "line": line, "sampler": type(loader.sampler).__name__}  # fmt: skip
        self.watch.at_next("on_backward", PART, self.on_backward)

    def on_batch(self, held: Any, batch: Any) -> None:
        if self.world > 1 and len(self.batches) < FIRST_BATCHES:
            self.pending = fingerprint(held)
            self.watch.at_next("on_backward", PART, self.on_backward)

    def on_backward(self, *_: Any) -> None:
        """What was handed out is trained on."""
        if self.starts is not None and self.epochs < MOST_EPOCHS:
            self.epochs += 1
            self.loader, self.starts = self.starts, None
            line, starts = self.loader["line"], {k: v for k, v in self.loader.items() if k != "line"}
            self.recorder.fact("rank_epoch", {**starts, "epoch": self.epochs - 1, "world": self.world, "averaging": self.averaging},
                               module=starts["loader"], **(line.place if line else {}))  # fmt: skip
        if self.pending is not None:
            self.batches.append(self.pending)
            self.pending = None
            if len(self.batches) in (4, 12, FIRST_BATCHES):
                self.tell_batches()

    def tell_batches(self) -> None:
        line = self.loader["line"] if self.loader else None
        value = {"world": self.world, "batches": list(self.batches), "averaging": self.averaging,
                 **{k: (self.loader or {}).get(k) for k in ("sampler", "loader", "batch_size")}}  # fmt: skip
        self.recorder.fact("rank_batches", value, module=value["loader"], **(line.place if line else {}))

    # ---- samplers

    def sampled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A DistributedSampler is asked for the order of an epoch."""
        sampler = args[0]
        held = self.samplers.get(id(sampler))
        if held is None or held["sampler"]() is not sampler:
            name = named(sampler) or "sampler"
            held = self.samplers[id(sampler)] = {
                "sampler": weakref.ref(sampler), "line": here(), "name": name, "epochs": [], "class": type(sampler).__name__,
                "shuffle": bool(getattr(sampler, "shuffle", False)), "world": int(getattr(sampler, "num_replicas", self.world)),
            }  # fmt: skip
        if len(held["epochs"]) < MOST_EPOCHS:
            held["epochs"].append(int(getattr(sampler, "epoch", 0)))
            if len(held["epochs"]) in (3, 6, 12, 24, 48):
                self.tell_sampler(held)

    def tell_sampler(self, held: dict[str, Any]) -> None:
        line = held["line"]
        value = {**{k: held[k] for k in ("name", "class", "shuffle", "world")}, "epochs": held["epochs"][:], "steps": self.watch.step}
        self.recorder.fact("sampler_epochs", value, module=held["name"], **(line.place if line else {}))

    # ---- weights

    def before_step(self, optimizer: Any) -> None:
        """The weights of this rank: before the first step, and at each power of two."""
        step = self.watch.step
        if self.world < 2 or step & (step - 1):
            return
        held = self.watch.optimizers.get(id(optimizer))
        if held is None:
            return
        parameters = [p for p in held.parameters if type(p) in (torch.nn.Parameter, torch.Tensor) and p.device.type == "cpu"]
        few = parameters[:: max(1, len(parameters) // SAMPLED_PARAMETERS)][:SAMPLED_PARAMETERS]
        if not few:
            return
        values = torch.cat([p.detach().reshape(-1)[:VALUES].double() for p in few]).tolist()
        holding = [m for m in list(self.models) if any(p is few[0] for p in m.parameters())]  # layers, models round them
        model = max(reversed(holding), key=lambda m: sum(1 for _ in m.parameters()), default=None)
        name, line = (named(model), self.models.get(model)) if model is not None else (None, held.line)
        value = {"step": step, "values": values, "count": len(parameters), "world": self.world, "averaging": self.averaging,
                 "reduces": self.collectives["all_reduce"], "optimizer": held.name, "model": name}  # fmt: skip
        self.recorder.fact("rank_weights", value, module=name, **(line.place if line else {}))

    def last_words(self) -> None:
        if self.batches:
            self.tell_batches()
        for held in self.samplers.values():
            self.tell_sampler(held)
        if self.world > 1:
            value = {"steps": self.watch.step, "epochs": self.epochs, "collectives": dict(self.collectives), "world": self.world}
            self.recorder.fact("rank_end", value, file="", line=None)


def fingerprint(held: Any) -> str:
    """Of a batch: its row numbers and the first bytes of its tensors on the CPU."""
    digest = hashlib.blake2b(digest_size=8)
    for reference in held.leaves:
        tensor = reference()
        if tensor is not None and tensor.device.type == "cpu" and tensor.layout == torch.strided and tensor.dtype != torch.bfloat16:
            flat = tensor.detach().reshape(-1)[: SAMPLED_BYTES // max(1, tensor.element_size())]
            digest.update(flat.contiguous().numpy().tobytes())
    return digest.hexdigest()


def install(watch: Watch) -> None:
    distributed = sys.modules.get("torch.distributed")
    names = ("rank", "rank_epoch", "rank_batches", "rank_weights", "sampler_epochs", "rank_end")
    if distributed is None or not distributed.is_available() or not watch.recorder.wants(*names):
        return
    ranks = Ranks(watch)
    deep = sys.modules.get("torch.distributed.distributed_c10d")
    for owner in (distributed, deep) if deep is not None else (distributed,):
        watch.around(PART, owner, "init_process_group", None, ranks.joined)
    for name in COLLECTIVES:
        watch.around(PART, distributed, name, ranks.collective(name), None)
    data = torch.utils.data
    watch.around(PART, torch.nn.parallel.DistributedDataParallel, "__init__", None, ranks.wrapped)
    watch.around(PART, data.DataLoader, "__init__", None, ranks.loader_built)
    watch.around(PART, data.DataLoader, "__iter__", ranks.loader_iterated, None)
    watch.around(PART, data.distributed.DistributedSampler, "__iter__", ranks.sampled, None)
    watch.hang("on_module_built", PART, ranks.module_built)
    watch.hang("on_batch", PART, ranks.on_batch)
    watch.recorder.at_exit(ranks.last_words)
