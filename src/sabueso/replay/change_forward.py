"""Changes round a model's forward pass: its mode, its input, its layers' weights, an activation before one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import remedies
from ..remedies import moments, renewed, spread
from .change_steps import hooks


def at_root(torch: Any, before: Callable[[Any, Any], Any], after: Callable[[Any], None] | None = None) -> None:
    """Run `before(module, args)` when an outermost module is called (what it returns are the new args) and `after(module)` when it has returned."""
    depth = [0]

    def enter(module: Any, args: Any) -> Any:
        depth[0] += 1
        return before(module, args) if depth[0] == 1 else None

    def leave(module: Any, args: Any, out: Any) -> None:
        depth[0] -= 1
        if depth[0] == 0 and after is not None:
            after(module)

    torch.nn.modules.module.register_module_forward_pre_hook(enter)
    torch.nn.modules.module.register_module_forward_hook(leave, always_call=True)


def is_model(module: Any) -> bool:
    """Something with parameters, not a loss or a lone activation."""
    return any(True for _ in module.parameters())


def trained(change: Any, torch: Any) -> None:
    """Training mode wherever gradients are on."""

    def before(module: Any, args: Any) -> None:
        if torch.is_grad_enabled() and is_model(module) and not all(m.training for m in module.modules()):
            module.train()
            change.applied()

    at_root(torch, before)


def evaluated(change: Any, torch: Any) -> None:
    """Evaluation mode for each call without gradients; the modes come back after it."""
    kept: list[Any] = []

    def before(module: Any, args: Any) -> None:
        if not torch.is_grad_enabled() and is_model(module) and any(m.training for m in module.modules()):
            kept.append([(m, m.training) for m in module.modules()])
            module.eval()
            change.applied()

    def after(module: Any) -> None:
        while kept:
            for m, flag in kept.pop():
                m.training = flag

    at_root(torch, before, after)


def standardised(change: Any, torch: Any) -> None:
    """The first floating input of each model by the moments of its first batch: by column in tables, as a whole in anything else."""
    by: dict[int, Any] = {}

    def before(module: Any, args: Any) -> Any:
        if not args or not torch.is_tensor(args[0]) or not args[0].is_floating_point() or not is_model(module):
            return None
        if id(module) not in by and len(args[0]) > 1:
            by[id(module)] = moments(args[0])
        if id(module) not in by:
            return None
        change.applied()
        return (remedies.standardised(args[0], by[id(module)]), *args[1:])

    at_root(torch, before)


def finite(change: Any, torch: Any) -> None:
    """NaN and infinities of the inputs, and of the weights that a model is first called with, become 0."""
    done: set[int] = set()

    def before(module: Any, args: Any) -> Any:
        if id(module) not in done:
            done.add(id(module))
            for held in [t for t in (*module.parameters(), *module.buffers()) if t.is_floating_point() and not bool(torch.isfinite(t).all())]:
                held.data.nan_to_num_(0.0, 0.0, 0.0)
                change.applied()
        wrong = [torch.is_tensor(a) and a.is_floating_point() and not bool(torch.isfinite(a).all()) for a in args]
        if not any(wrong):
            return None
        change.applied()
        return tuple(torch.nan_to_num(a, 0.0, 0.0, 0.0) if w else a for a, w in zip(args, wrong))

    at_root(torch, before)


def begun_anew(change: Any, torch: Any) -> None:
    """The module of the finding and those of its class, or all of the model, by their own initialisers, once, before the first step with gradients.

    Parameters of no module that is called are drawn when their optimizer would take its first step, which they do not take.
    """
    done: set[int] = set()
    drawn: set[int] = set()  # parameters

    def draw(p: Any) -> None:
        drawn.add(id(p))
        if p.dim() > 1:
            torch.nn.init.normal_(p, std=spread(p))
            change.applied()

    def before(module: Any, args: Any) -> None:
        if id(module) in done or not torch.is_grad_enabled() or not is_model(module):
            return
        done.add(id(module))
        drawn.update(map(id, module.parameters()))
        part = found(module, change.place.get("module"))
        parts = [m for m in module.modules() if type(m) is type(part)] if part is not None and is_model(part) else [module]
        if sum(renewed(m, draw) for m in parts):
            change.applied()

    def step(optimizer: Any, args: Any, kwargs: Any) -> None:
        for p in [p for g in optimizer.param_groups for p in g["params"] if id(p) not in drawn]:
            draw(p)
            p.grad = None

    at_root(torch, before)
    hooks(torch).register_optimizer_step_pre_hook(step)


def bent(change: Any, torch: Any) -> None:
    """A ReLU behind the module of the finding, and behind those of its kind that stand as it does before another of them in one sequence."""
    done: set[int] = set()

    def before(module: Any, args: Any) -> None:
        part = found(module, change.place.get("module")) if id(module) not in done and is_model(module) else None
        done.add(id(module))
        if part is None or part is module:
            return
        for m in {id(m): m for m in (part, *alike(module, part, torch))}.values():
            m.register_forward_hook(lambda m, a, out: torch.relu(out))
            change.applied()

    at_root(torch, before)


def alike(root: Any, part: Any, torch: Any) -> list[Any]:
    """Of the sequences that hold it: each layer of its class whose next one is another."""
    found: list[Any] = []
    for held in [list(m) for m in root.modules() if isinstance(m, torch.nn.Sequential) and any(c is part for c in m)]:
        found += [a for a, b in zip(held, held[1:]) if type(a) is type(b) is type(part)]
    return found


def found(root: Any, path: str | None) -> Any:
    """The module of that path, which may begin with the name of the root itself."""
    named, parts = dict(root.named_modules()), (path or "").split(".")
    for n in range(len(parts)):
        if (tail := ".".join(parts[n:])) and tail in named:
            return named[tail]
    return None


CHANGES = {
    "training mode": trained, "evaluation mode": evaluated, "inputs standardised": standardised, "inputs made finite": finite,
    "layers initialised anew": begun_anew, "activation inserted": bent,
}  # fmt: skip
