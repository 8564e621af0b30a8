"""Modules: what models there are, what they are called, where they were built, how they were switched, what was loaded into them."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from .identity import ByIdentity
from .lines import built_at, here, named
from .trace import is_plain
from .unreached import unreached
from .watch import Watch

PART = "modules"
MOST_TREE = 300  # modules of a model told in its tree
MOST_MODELS = 24
LIVE = ("Dropout", "BatchNorm", "SyncBatchNorm", "InstanceNorm", "AlphaDropout", "RReLU")  # behave differently in training


class Root:
    """A model: a module that the program called from outside of any other."""

    def __init__(self, module: Any, name: str | None, number: int) -> None:
        self.ref, self.name, self.number = weakref.ref(module), name or type(module).__name__, number
        self.cls = type(module).__name__
        self.paths: dict[int, str] = {}
        self.size = -1
        self.refresh(module)

    def refresh(self, module: Any) -> bool:
        """Take the paths anew where modules were added, replaced or removed; True if so."""
        found = {id(m): p for p, m in module.named_modules()}
        changed = found != self.paths
        self.paths = found
        return changed


class Modules:
    """Names and lines of all modules."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.built = ByIdentity()  # module -> Line where it was built
        self.switched = ByIdentity()  # module -> lines of its last train() and eval(), and which was last
        self.loaded = ByIdentity()  # module -> backward calls when it was loaded
        self.roots: dict[int, Root] = {}
        self.strayed = ByIdentity()  # batch norm in eval mode -> how far the batch lies from its running statistics
        self.deep = 0
        self.loads = 0

    # ---- hooks

    def init(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Module.__init__ begins."""
        line = built_at(args[0])
        self.built[args[0]] = line
        self.watch.tell("on_module_built", args[0], line)

    def train_begins(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Module.train(mode), which eval() calls too and which calls itself for the children: the outermost call counts."""
        self.deep += 1
        if self.deep == 1:
            mode = bool(args[1] if len(args) > 1 else kwargs.get("mode", True))
            held = self.switched.setdefault(args[0], {})
            held["train" if mode else "eval"], held["last"] = here(), mode
            self.watch.tell("on_switch", args[0], mode)
        return True

    def train_ended(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.deep = max(0, self.deep - 1) if token else self.deep

    def load_begins(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """load_state_dict begins: what the weights were."""
        return [sample(p) for p in list(args[0].parameters())[:20]]

    def load_ended(self, before: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """load_state_dict returned: which module, and was it the trained one that was overwritten?"""
        module, state = args[0], args[1] if len(args) > 1 else kwargs.get("state_dict")
        for m in module.modules():
            self.loaded[m] = self.watch.backwards
        self.loads += 1
        if before is None or (self.loads > 16 and self.loads & (self.loads - 1)):
            return
        after = [sample(p) for p in list(module.parameters())[:20]]
        changed = sum(a != b for a, b in zip(before, after)) / max(1, len(after))
        graph = self.watch.parts.get("graph")
        trained = graph.trained_steps(module) if graph else 0
        donor = graph.donor(state, module) if graph else None
        value = {"module": self.label(module), "class": type(module).__name__, "changed": round(changed, 3), "trained": trained, "times": self.loads,
                 "donor": donor, "backwards": self.watch.backwards, "keys": len(state) if hasattr(state, "__len__") else None}  # fmt: skip
        self.recorder.fact("weights_loaded", value, step=self.watch.step, module=value["module"])

    # ---- models

    def root(self, module: Any, args: tuple[Any, ...]) -> None:
        """A module is called from outside of any other."""
        self.deep = 0  # an exception within train() may have left it open
        root = self.roots.get(id(module))
        if root is None or root.ref() is not module:
            if any(id(module) in r.paths and r.ref() is not None for r in self.roots.values()):
                return  # part of a model that is known
            root = self.roots[id(module)] = Root(module, named(module) or self.within(module), len(self.roots))
            self.watch.models.add(module)
            self.describe(module, root)
        elif root.refresh(module):
            self.describe(module, root)

    def within(self, module: Any) -> str | None:
        """What a module is called in those that have it, though they are not called as a whole."""
        path = ""
        for _ in range(6):
            found = next(((o, k) for o in self.built for k, m in o._modules.items() if m is module), None)
            if found is None:
                break
            module, path = found[0], f"{found[1]}.{path}" if path else found[1]
        return path or None

    def called(self, module: Any, args: tuple[Any, ...], result: Any) -> None:
        """A batch norm that normalises a training batch with stored statistics: do they fit it?"""
        if module.training or not isinstance(module, torch.nn.modules.batchnorm._BatchNorm) or not torch.is_grad_enabled():
            return
        x, mean, var = (args[0] if args else None), module.running_mean, module.running_var
        if mean is None or not torch.is_tensor(x) or not all(is_plain(t) for t in (x, mean, var)) or x.numel() > 2_000_000:
            return
        axes = [i for i in range(x.dim()) if i != 1]
        x = x.detach().double()
        scale = (var.double() + module.eps).sqrt()
        self.strayed[module] = [
            float(((x.mean(axes) - mean) / scale).abs().median()),
            float((x.std(axes) / scale).median()),
            int(module.num_batches_tracked or 0),
        ]

    def describe(self, module: Any, root: Root) -> None:
        """The fact `model`."""
        if root.number >= MOST_MODELS:
            return
        tree = [[p, type(m).__name__, {n: list(w.shape) for n, w in m._parameters.items() if w is not None}, self.line_of(m)]
                for p, m in list(module.named_modules())[:MOST_TREE]]  # fmt: skip
        count = sum(p.numel() for p in module.parameters() if not isinstance(p, torch.nn.UninitializedParameter))
        value = {"name": root.name, "class": root.cls, "number": root.number, "parameters": count, "tree": tree}
        line = self.built.get(module)
        self.recorder.fact("model", value, module=root.name, **(line.place if line else {}))

    def line_of(self, module: Any) -> Any:
        line = self.built.get(module)
        return line.told if line else None

    def label(self, module: Any) -> str | None:
        """A module's path in its model, or what the person calls it where it is one."""
        if module is None:
            return None
        own = self.roots.get(id(module))
        best = None
        for root in self.roots.values():
            path = root.paths.get(id(module))
            if path and root.ref() is not None and (best is None or len(root.paths) > best[0]):
                best = (len(root.paths), path)
        if best is not None:
            return best[1]
        if own is not None and own.ref() is module:
            return own.name
        given = getattr(module, "name", None) if "keras" in str(type(module).__mro__) else None
        return named(module) or (given if isinstance(given, str) else None) or type(module).__name__

    def owner(self, parameter: Any, path: str) -> Any:
        """The module of a known model that has this very parameter."""
        for root in self.roots.values():
            module = root.ref()
            try:
                found = module.get_submodule(path.rpartition(".")[0]) if module is not None else None
            except AttributeError:
                continue
            if found is not None and found._parameters.get(path.rpartition(".")[2]) is parameter:
                return found
        return None

    def root_of(self, module: Any) -> Any:
        """The known model that a module belongs to (itself, where it is one)."""
        best = None
        for root in self.roots.values():
            held = root.ref()
            if held is not None and id(module) in root.paths and (best is None or len(root.paths) > best[0]):
                best = (len(root.paths), held)
        return best[1] if best else None

    def top_of(self, module: Any) -> Any:
        """The outermost module that has this one, known as a model or not."""
        root = self.root_of(module)
        if root is not None:
            return root
        for other in self.built:
            if other is not module and any(m is module for m in other._modules.values()):
                return self.top_of(other)
        return module

    def flags(self, module: Any) -> dict[str, Any]:
        """Training flag of a model and of its parts that behave differently in training."""
        live, asleep, dropped = [], [], 0
        sizes = [(p.numel(), p.requires_grad) for p in module.parameters() if not isinstance(p, torch.nn.UninitializedParameter)]
        frozen = sum(n for n, trained in sizes if not trained) / max(1, sum(n for n, _ in sizes))
        for path, m in module.named_modules():
            name = type(m).__name__
            if name.startswith(LIVE) and (getattr(m, "p", 1) != 0) and (getattr(m, "track_running_stats", True)):
                (live if m.training else asleep).append([path, name])
                dropped += "Dropout" in name
            elif getattr(m, "dropout", 0) and isinstance(m.dropout, float) and hasattr(m, "_flat_weights"):
                (live if m.training else asleep).append([path, name])
        held = self.switched.get(module, {})
        lines = {k: held[k].told for k in ("train", "eval") if held.get(k)}
        return {"training": bool(module.training), "live": live[:12], "asleep": asleep[:12], "lines": lines, "last": held.get("last"), "dropouts": dropped,
                "frozen": round(frozen, 3), "unreached": unreached(module, held) if live else None,
                "strayed": [[p, *self.strayed.get(m)] for p, m in module.named_modules() if m in self.strayed][:8]}  # fmt: skip


def sample(tensor: Any, most: int = 16) -> list[float] | None:
    """A few values of a tensor, spread over it, to see whether it was written; None where they are not to be had at once."""
    if isinstance(tensor, torch.nn.UninitializedParameter) or not is_plain(tensor) or tensor.is_meta or not tensor.numel():
        return None
    flat = tensor.detach().reshape(-1)
    return flat[:: max(1, flat.numel() // most)][:most].tolist()


def install(watch: Watch) -> None:
    """Patch what builds, switches and loads modules."""
    modules = Modules(watch)
    watch.parts["modules"] = modules
    watch.around(PART, torch.nn.Module, "__init__", modules.init)
    watch.around(PART, torch.nn.Module, "train", modules.train_begins, modules.train_ended)
    watch.around(PART, torch.nn.Module, "load_state_dict", modules.load_begins, modules.load_ended)
    watch.hang("on_root", PART, modules.root)
    watch.hang("on_module", PART, modules.called)
