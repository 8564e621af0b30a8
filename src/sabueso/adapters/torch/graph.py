"""Graph: which parameters a loss reaches, which it does not and why, and which of them an optimizer holds and changes."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import torch

from .lines import Line, freezing, here
from .modules import Modules, sample
from .outside import outside
from .paths import adds, feeds, looked_up, with_gradient
from .steps import Steps
from .trace import Made, Trace, is_plain
from .watch import Watch

PART = "graph"
MOST_PARAMETERS = 240  # of a model told
TIMES = 6  # how often a model's parameters are told
MOST_PAIRS = 40  # of models and optimizers told
MOST_FRESH = 8
MOST_DRAWN = 2000  # matrices
MOST_NODES = 20_000  # of a backward graph walked


class Graph:
    """Parameters over the sampled steps."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.modules: Modules = watch.parts["modules"]
        self.steps: Steps = watch.parts["steps"]
        self.trace: Trace = watch.parts["trace"]
        self.initialised: dict[int, tuple[Any, str, Any, bool | None, Line | None]] = {}  # parameter id -> (reference, initialiser, values, narrows, line)
        self.drawn: dict[int, tuple[Any, Line | None]] = {}  # address -> a few of the values that were drawn there before the training, line
        self.registered: dict[int, tuple[Any, Line | None]] = {}  # parameter id -> (reference, line that made it a part of a module)
        self.stepped: dict[int, int] = {}  # parameter id -> optimizer steps while it was held and had a gradient
        self.called: dict[int, Any] = {}  # roots called with gradients since the last turn
        self.reached: set[int] = set()
        self.cuts: dict[int, Made] = {}
        self.before: dict[int, Any] = {}
        self.call_lines: dict[int, Line | None] = {}
        self.frozen: dict[tuple[int, int], tuple[Any, Any, list[str]]] = {}  # model, its optimizer, the parameters that were frozen when first told
        self.fed: dict[int, bool] = {}  # cuts behind which trained layers go on
        self.told: dict[tuple[int, int, int], int] = {}
        self.unheld: dict[int, tuple[Any, Line | None]] = {}
        self.line: Line | None = None
        self.took_part: dict[int, Any] = {}  # parameters that a loss depended on, with or without a gradient
        self.frozen_at: dict[int, Line | None] = {}
        self.versions: dict[int, list[int]] = {}  # of a root: sets of parameters that it has had
        self.freezing: list[Any] | None = None  # the one line that sets requires_grad, where there is one
        self.fresh = 0  # times that new parameters in the midst of training made a step worth a look

    def initialise(self, name: str) -> Any:
        """The hook behind a function of torch.nn.init."""

        def after(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            tensor = args[0] if args else kwargs.get("tensor")
            if torch.is_tensor(tensor) and not tensor._is_view() and tensor.is_leaf:  # a view made without gradients can't be asked
                self.remember(tensor, name)

        return after

    def remember(self, tensor: Any, name: str, narrows: bool | None = None) -> None:
        """An initialiser wrote a tensor."""
        self.initialised[id(tensor)] = (weakref.ref(tensor), name, sample(tensor), narrows, here())
        if self.watch.backwards and not self.watch.armed and not self.watch.evaluating and self.fresh < MOST_FRESH:
            self.fresh += 1
            self.watch.arm()

    def draw(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Tensor.uniform_ or Tensor.normal_ wrote a matrix, perhaps the data of a parameter."""
        tensor = args[0]
        if not self.watch.backwards and len(self.drawn) < MOST_DRAWN and is_plain(tensor) and tensor.dim() > 1 and tensor.numel():
            self.drawn[tensor.data_ptr()] = sample(tensor), here()

    def freeze(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Tensor.requires_grad_ or Module.requires_grad_ begins: the person's line, should it freeze."""
        flag = args[1] if len(args) > 1 else kwargs.get("requires_grad", True)
        if not flag and isinstance(args[0], torch.nn.Module):
            line = here()
            for p in args[0].parameters():
                self.frozen_at[id(p)] = line

    def clear(self) -> None:
        self.called, self.reached, self.cuts, self.before, self.unheld, self.fed = {}, set(), {}, {}, {}, {}
        self.call_lines = {}

    def forward(self, root: Any, inputs: Any, outputs: Any) -> None:
        """A model was called in a sampled step."""
        own = self.modules.root_of(root) or root
        self.called[id(own)] = own
        self.call_lines.setdefault(id(own), here())

    def backward(self, tensors: tuple[Any, ...], _: Any) -> None:
        """Which parameters does this graph reach, and what cuts others off from the loss?"""
        if not self.watch.armed:
            return
        self.line = here()
        held = {id(p) for h in self.watch.optimizers.values() for p in h.parameters}
        some = False
        for variable in leaves(tensors):
            some = some or id(variable) in held or isinstance(variable, torch.nn.Parameter)
            self.reached.add(id(variable))
            if id(variable) not in held and isinstance(variable, torch.nn.Parameter):
                self.unheld[id(variable)] = (weakref.ref(variable), self.line)
        for root in self.called.values():
            for p in root.parameters():
                self.before.setdefault(id(p), sample(p))
        for reference, _ in self.unheld.values():
            self.before.setdefault(id(reference()), sample(reference()))
        for tensor in tensors:
            made = self.trace.of(tensor) if torch.is_tensor(tensor) else None
            behind = made is not None and not some and any(m.cut is m for m in made.ancestors())
            if torch.is_tensor(tensor) and (behind or tensor.grad_fn is None and self.called):
                self.cut_off(tensor, made)
            if made is None:
                continue
            for m in made.ancestors():
                if m.op == "parameter" and m.ref() is not None:
                    self.took_part[id(m.ref())] = m.ref
                    self.cuts.setdefault(id(m.ref()), None)  # type: ignore[arg-type]
            leads = {id(m) for m in made.ancestors()}
            self.lookups(made)
            for m in made.ancestors():
                if m.cut is m:
                    self.fed[id(m)] = feeds(self.trace.order, m, leads) or self.added(m, leads)
                    for p in m.ancestors():
                        known = self.cuts.get(id(p.ref())) if p.op == "parameter" and p.ref() is not None and (p.grad or p.lost) else m
                        if known is None or known is not m and not self.fed.get(id(known)):
                            self.cuts[id(p.ref())] = m
                elif m.lost and m.cut is not None:  # parameters that come in behind the cut, where gradients are off still
                    for p in m.parents:
                        if p.op == "parameter" and p.ref() is not None and p.grad:
                            self.cuts[id(p.ref())] = m.cut

    def added(self, cut: Made, leads: set[int]) -> bool:
        """Is a term of the loss made of it, which stays out of the gradient? Then its model was called, though without gradients."""
        if cut.module is None or not adds(self.trace.order, cut, leads):
            return False
        root = self.modules.top_of(cut.module)
        self.called.setdefault(id(root), root)
        for p in root.parameters():
            self.before.setdefault(id(p), sample(p))
        return True

    def lookups(self, loss: Made) -> None:
        """Nearest entries looked up (argmin of distances, then the rows of the same table) past which no gradient flows."""
        leads = {id(m) for m in loss.ancestors()}
        for index in [m for m in self.trace.order if m.op in ("argmin", "argmax", "min") and m.cut is m and id(m) in leads]:
            before = list(index.ancestors(600))
            if index.op == "argmax" and not any(m.op in ("cdist", "neg") for m in before[:8]):
                continue
            table, found = looked_up(self.trace.order, index, {id(m): m for m in before})
            if found is None or table is None:
                continue
            sources = {id(m) for m in before if m.grad and m.op != "parameter" and all(a is not table for a in m.ancestors(200))}
            behind = next((d for d in self.trace.order if id(d) in leads and d.number > found.number
                           and any(p.op == "parameter" and p is not table for p in d.parents)
                           and any(found is a for p in d.parents for a in p.ancestors(200))), None)  # fmt: skip
            if not sources or behind is None or any(id(a) in sources for p in behind.parents for a in with_gradient(p)):
                continue
            line = found.line or index.line
            if self.recorder.once("graph_cut", "lookup", line, self.watch.step):
                module = self.modules.label(found.module) if found.module is not None else None
                self.recorder.fact("graph_cut", {"whole": False, "lookup": True, "operation": index.op, "index_line": index.line.told if index.line else None},
                                   step=self.watch.step, stage="train", module=module, **(line.place if line else {}))  # fmt: skip

    def cut_off(self, tensor: Any, made: Made | None) -> None:
        """A loss that no parameter has a part in: the backward fails or does nothing."""
        cut = next((m for m in made.ancestors() if m.cut is m), None) if made is not None else None
        held = [m.ref() for m in cut.ancestors() if m.op == "parameter"] if cut and not self.called else []  # called without gradients
        owners = [m for m in self.modules.built for p in m._parameters.values() if any(p is q for q in held)]
        roots = list(self.called.values()) or [self.modules.top_of(m) for m in owners[:1]]
        models = [self.modules.label(root) for root in roots]
        value = {"whole": True, "requires_grad": bool(tensor.requires_grad), "operation": cut.op if cut else None, "models": models,
                 "no_grad": bool(cut and cut.no_grad), "backward": self.line.told if self.line else None}  # fmt: skip
        if models and self.recorder.once("graph_cut", self.line):
            line = cut.line if cut and cut.line else self.line
            self.recorder.fact("graph_cut", value, step=self.watch.step, stage="train", **(line.place if line else {}))

    def step(self, optimizer: Any) -> None:
        """After a step: tell the parameters of each model that was called."""
        held = self.steps.held(optimizer)
        for p in held.parameters:
            if p.grad is not None:
                self.stepped[id(p)] = held.steps
        own = {id(p) for p in held.parameters}
        for root in list(self.called.values()):
            if any(id(p) in own for p in root.parameters()) or not self.owner(root):
                self.tell(root, held)

    def owner(self, root: Any) -> bool:
        """Does any optimizer hold parameters of this model?"""
        own = {id(p) for p in root.parameters()}
        return any(id(p) in own for h in self.watch.optimizers.values() for p in h.parameters)

    def tell(self, root: Any, stepping: Any) -> None:
        """The fact `parameters` of one model."""
        version = self.version(root)
        key = (id(root), stepping.number, version)
        self.told[key] = self.told.get(key, 0) + 1
        if self.told[key] > TIMES or len(self.told) > MOST_PAIRS:
            return
        owners = {id(p): h.number for h in self.watch.optimizers.values() for p in h.parameters}
        rows = []
        for path, p in list(root.named_parameters())[:MOST_PARAMETERS]:
            rows.append(self.row(path, p, owners))
        self.departed(rows, root)
        own = {id(p) for p in root.parameters()}
        theirs = own.union(*({id(p) for p in other.parameters()} for other in self.called.values()))  # those of another model are not hidden in this one
        stray = [(r(), line) for i, (r, line) in self.unheld.items() if i not in theirs and r() is not None][:20]
        kept = outside(root) if stray else {}
        hidden = [self.stray(p, n, line, stepping, owners, kept.get(id(p))) for n, (p, line) in enumerate(stray)]
        self.frozen.setdefault((id(root), stepping.number), (weakref.ref(root), stepping, [r["path"] for r in rows if not r["requires_grad"]]))
        value = {"model": self.modules.label(root), "class": type(root).__name__, "optimizer": stepping.number, "steps": stepping.steps,
                 "version": version, "built": self.modules.line_of(root), "called": line.told if (line := self.call_lines.get(id(root))) else None,
                 "optimizer_line": stepping.line.told if stepping.line else None,
                 "optimizer_count": len(stepping.parameters), "orphans": self.orphans(stepping, own), "hidden": hidden, "rows": rows}  # fmt: skip
        self.recorder.fact("parameters", value, step=self.watch.step, module=value["model"], **(self.line.place if self.line else {}))

    def stray(self, p: Any, number: int, line: Line | None, stepping: Any, owners: dict[int, int], kept: tuple[str, Any] | None) -> dict[str, Any]:
        """A parameter that the model does not know as its own: where it is kept, and the line that made it."""
        path = self.beside(p, stepping) or (kept[0] if kept else f"(hidden) {number} {tuple(p.shape)}")
        made = self.modules.line_of(kept[1]) if kept and kept[1] is not p else None
        return self.row(path, p, owners) | {"line": made or (line.told if line else None), "plain": kept is not None}

    def last_words(self) -> None:
        """Models with layers that were frozen at first and set free after the last telling are told once more."""
        for reference, stepping, paths in self.frozen.values():
            root = reference()
            free = {path for path, p in root.named_parameters() if p.requires_grad} if root is not None and paths else set()
            if free & set(paths):
                self.told[id(root), stepping.number, self.version(root)] = 0
                self.tell(root, stepping)

    def beside(self, parameter: Any, stepping: Any) -> str | None:
        """The path of a parameter in a module that also has some of the optimizer's, called as a whole or not (a LightningModule is not)."""
        module, built = next((m for m in self.modules.built if any(q is parameter for q in m._parameters.values())), None), list(self.modules.built)
        for _ in range(6 if module is not None else 0):
            parent = next((o for o in built if o is not module and any(m is module for m in o._modules.values())), None)
            if parent is None:
                break
            module = parent
        held = {id(p) for p in stepping.parameters}
        if module is None or not any(id(p) in held for p in module.parameters()):
            return None
        return next((path for path, p in module.named_parameters() if p is parameter), None)

    def version(self, root: Any) -> int:
        """How many sets of parameters the model had before this one: layers may be replaced while it is trained."""
        known, now = self.versions.setdefault(id(root), []), hash(tuple(id(p) for p in root.parameters()))
        if now not in known:
            known.append(now)
        return known.index(now)

    def departed(self, rows: list[dict[str, Any]], root: Any) -> None:
        """For parameters without a part in the loss: the line at which what was made with them left torch."""
        paths = {id(p): path for path, p in root.named_parameters()}
        open_rows = {r["name"]: r for r in rows if not r["reached"] and not r["used"]}
        for made, line in self.trace.exits if open_rows else ():
            for m in made.ancestors():
                row = open_rows.get(paths.get(id(m.ref()), "")) if m.op == "parameter" and m.ref() is not None else None
                if row is not None and line is not None:
                    row.setdefault("left", line.told)

    def register(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A parameter becomes a part of a module."""
        parameter = args[2] if len(args) > 2 else kwargs.get("param")
        if parameter is not None and id(parameter) not in self.initialised:
            self.registered[id(parameter)] = (weakref.ref(parameter), here())

    def drawn_at(self, p: Any) -> Line | None:
        """The person's line that gave a parameter the values that it has: its initialiser's, or the one that made it where nothing of torch drew them."""
        known, (values, line) = self.initialised.get(id(p)), self.drawn.get(p.data_ptr() if is_plain(p) else 0, (None, None))
        if values is not None and values == sample(p):
            return line
        if known is not None and known[0]() is p:
            return known[4] if known[2] == sample(p) else None
        ref, line = self.registered.get(id(p), (None, None))
        return line if ref is not None and ref() is p else None

    def orphans(self, held: Any, own: set[int]) -> int:
        """Parameters that the optimizer holds and no known model has: what is left of replaced layers."""
        everywhere = own | {id(p) for r in self.modules.roots.values() if r.ref() is not None for p in r.ref().parameters()}
        return sum(id(p) not in everywhere for p in held.parameters)

    def row(self, path: str, p: Any, owners: dict[int, int]) -> dict[str, Any]:
        """One parameter as the fact tells it."""
        now, was = sample(p), self.before.get(id(p))
        known = self.initialised.get(id(p))
        initialiser = known[1] if known is not None and known[0]() is p else None
        own, path = path, path.rpartition("_torch_params.")[2].replace("/", ".") if "_torch_params." in path else path  # as Keras names them
        row = {"path": path, "name": own, "shape": list(p.shape),
               "requires_grad": p.requires_grad, "optimizer": owners.get(id(p)), "reached": id(p) in self.reached,
               "used": id(p) in self.cuts, "gradient": gradient_state(p), "initialiser": initialiser, "stepped": self.stepped.get(id(p), 0),
               "changed": None if was is None or now is None else now != was,
               "untouched": bool(initialiser and now is not None and known is not None and known[2] is not None
                                  and (known[2] == now or any(now) and all(a == b or b == 0 for a, b in zip(known[2], now))))}  # fmt: skip
        if initialiser and known is not None and known[3] is not None:
            row["narrows"] = known[3]
        frozen_at = self.frozen_at.get(id(p)) if not p.requires_grad else None
        if frozen_at is not None:
            row["frozen_at"] = frozen_at.told
        elif not p.requires_grad and row["untouched"] and (line := self.freezing or freezing()) is not None:
            self.freezing = row["frozen_at"] = line
        owner = self.modules.owner(p, path)
        if owner is not None and not row["optimizer"]:
            row["built"] = self.modules.line_of(owner)
        cut = self.cuts.get(id(p))
        if cut is not None and id(p) not in self.reached:
            row["cut"] = {"op": cut.op, "feeds": self.fed.get(id(cut), False), "line": cut.line.told if cut.line else None, "no_grad": bool(cut.no_grad),
                          "no_grad_line": cut.no_grad.told if isinstance(cut.no_grad, Line) else None,
                          "module": self.modules.label(cut.module) if cut.module is not None else None}  # fmt: skip
        return row

    # ---- asked by modules

    def trained_steps(self, module: Any) -> int:
        """Optimizer steps that a module's parameters have had."""
        return max((self.stepped.get(id(p), 0) for p in module.parameters()), default=0)

    def donor(self, state: Any, module: Any) -> dict[str, Any] | None:
        """The living model whose very tensors a state dictionary holds, if any: was it trained, did a loss depend on it, what are its values?"""
        if not isinstance(state, dict):
            return None
        first = next((v for v in state.values() if torch.is_tensor(v) and v.numel()), None)
        if first is None or not first.data_ptr():
            return None
        for other in self.modules.built:
            for p in other._parameters.values():
                if p is not None and p.shape == first.shape and p.data_ptr() == first.data_ptr():
                    owner = self.modules.top_of(other)
                    if owner is not module:
                        took = any(r() is q for q in owner.parameters() if (r := self.took_part.get(id(q))) is not None)
                        return {"module": self.modules.label(owner), "trained": self.trained_steps(owner), "took_part": took, "values": sample(p)}
        return None


def leaves(tensors: tuple[Any, ...]) -> list[Any]:
    """The tensors that the backward graph of some tensors puts gradients into."""
    return behind([t.grad_fn for t in tensors if torch.is_tensor(t) and t.grad_fn is not None])


def behind(nodes: list[Any]) -> list[Any]:
    """The tensors at which gradients arrive that come through some nodes."""
    variables = (getattr(node, "variable", None) for node in walked(nodes) if type(node).__name__ == "AccumulateGrad")
    return [v for v in variables if v is not None]


def walked(nodes: list[Any]) -> Iterator[Any]:
    """The nodes of a backward graph from some of them on, nearest to the loss first."""
    queue = list(nodes)
    seen = set(queue)
    for node in queue:
        yield node
        if len(seen) > MOST_NODES:
            return
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                queue.append(following)


def gradient_state(p: Any) -> str | float | None:
    """none, zero, or the norm of a parameter's gradient; None where it can't be read at once."""
    grad = p.grad
    if grad is None:
        return "none"
    if not is_plain(grad):
        return None
    norm = float(torch.linalg.vector_norm(grad.detach(), dtype=torch.float64 if grad.is_floating_point() else None))
    return "zero" if norm == 0 else norm


def install(watch: Watch) -> None:
    """Hang on sampled steps, and see what torch.nn.init writes."""
    graph = Graph(watch)
    watch.parts["graph"] = graph
    for name in [n for n in vars(torch.nn.init) if n.endswith("_") and not n.startswith("_") and callable(getattr(torch.nn.init, n))]:
        watch.around(PART, torch.nn.init, name, None, graph.initialise(name))
    for name in ("uniform_", "normal_"):
        watch.around(PART, torch.Tensor, name, None, graph.draw)
    watch.around(PART, torch.nn.Module, "requires_grad_", graph.freeze)
    watch.around(PART, torch.nn.Module, "register_parameter", graph.register)
    watch.hang("on_forward", PART, graph.forward)
    watch.hang("on_backward", PART, graph.backward, sampled=True)
    watch.hang("after_step", PART, graph.step, sampled=True)
    watch.hang("on_arm", PART, graph.clear)
    watch.hang("on_disarm", PART, graph.clear)
    watch.recorder.at_exit(watch.guard(PART)(graph.last_words))
