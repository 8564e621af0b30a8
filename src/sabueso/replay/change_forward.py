"""Changes round a model's forward pass: its mode, its input, its layers' weights, an activation before one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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
    moments: dict[int, Any] = {}

    def before(module: Any, args: Any) -> Any:
        if not args or not torch.is_tensor(args[0]) or not args[0].is_floating_point() or not is_model(module):
            return None
        x = args[0]
        key = id(module)
        if key not in moments and len(x) > 1:
            table = x.dim() == 2
            mean, std = (x.mean(0), x.std(0)) if table else (x.mean(), x.std())
            moments[key] = mean.detach(), torch.where(std > 1e-8 * mean.abs().clamp(min=1e-12), std, torch.ones_like(std)).detach()
        if key not in moments:
            return None
        change.applied()
        mean, std = moments[key]
        return ((x - mean) / std, *args[1:])

    at_root(torch, before)


def finite(change: Any, torch: Any) -> None:
    """NaN and infinities of the inputs become 0."""

    def before(module: Any, args: Any) -> Any:
        wrong = [torch.is_tensor(a) and a.is_floating_point() and not bool(torch.isfinite(a).all()) for a in args]
        if not any(wrong):
            return None
        change.applied()
        return tuple(torch.nan_to_num(a, 0.0, 0.0, 0.0) if w else a for a, w in zip(args, wrong))

    at_root(torch, before)


def begun_anew(change: Any, torch: Any) -> None:
    """The module of the finding, or all of the model, by their own initialisers, once, before the first step with gradients."""
    done: set[int] = set()

    def before(module: Any, args: Any) -> None:
        if id(module) in done or not torch.is_grad_enabled() or not is_model(module):
            return
        done.add(id(module))
        part = found(module, change.place.get("module"))
        for m in (part or module).modules():
            if hasattr(m, "reset_parameters"):
                m.reset_parameters()
                change.applied()
                continue
            for p in [p for p in m.parameters(recurse=False) if p.dim() > 1]:  # made by hand
                torch.nn.init.normal_(p, std=max(p.shape) ** -0.5)
                change.applied()

    at_root(torch, before)


def bent(change: Any, torch: Any) -> None:
    """A ReLU before the module of the finding."""
    done: set[int] = set()

    def before(module: Any, args: Any) -> None:
        part = found(module, change.place.get("module")) if id(module) not in done and is_model(module) else None
        done.add(id(module))
        if part is not None and part is not module:
            part.register_forward_pre_hook(lambda m, a: (torch.relu(a[0]), *a[1:]))
            change.applied()

    at_root(torch, before)


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
