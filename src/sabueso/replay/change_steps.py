"""Changes of an optimizer's steps: rates, clipping, clearing, decay, what it holds; and the end after so many steps."""

from __future__ import annotations

import os
import sys
from typing import Any

from ..remedies import Masters


def hooks(torch: Any) -> Any:
    """The module that holds the hooks of all optimizers."""
    return sys.modules["torch.optim.optimizer"]


def budget(change: Any, torch: Any) -> None:
    """End the program after so many optimizer steps, with all that was recorded."""
    if not change.steps:
        return

    hooks(torch).register_optimizer_step_post_hook(lambda optimizer, args, kwargs: ended(change))


def ended(change: Any) -> None:
    """A step was taken; after the last of those asked for the program is over."""
    change.taken += 1
    if change.taken >= change.steps:
        change.at_end()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def scaled(change: Any, torch: Any, key: str, factor: float) -> None:
    """A setting multiplied for the time of each step, so that schedules go on as they would."""
    kept: dict[int, list[Any]] = {}

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        kept[id(optimizer)] = [g.get(key) for g in optimizer.param_groups]
        for group in optimizer.param_groups:
            if isinstance(group.get(key), (int, float)) and group[key]:
                group[key] *= factor
                change.applied()

    def after(optimizer: Any, args: Any, kwargs: Any) -> None:
        for group, value in zip(optimizer.param_groups, kept.pop(id(optimizer), [])):
            if value is not None:
                group[key] = value

    hooks(torch).register_optimizer_step_pre_hook(before)
    hooks(torch).register_optimizer_step_post_hook(after)


def unscheduled(change: Any, torch: Any) -> None:
    """Each step with the rate that its group began with; what a schedule sets is kept beside it."""
    began: dict[int, Any] = {}
    kept: dict[int, list[Any]] = {}

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        kept[id(optimizer)] = [g["lr"] for g in optimizer.param_groups]
        for group in optimizer.param_groups:
            first = began.setdefault(id(group), group.get("initial_lr", group["lr"]))
            if float(first) != float(group["lr"]):
                group["lr"] = first
                change.applied()

    def after(optimizer: Any, args: Any, kwargs: Any) -> None:
        for group, rate in zip(optimizer.param_groups, kept.pop(id(optimizer), [])):
            group["lr"] = rate

    hooks(torch).register_optimizer_step_pre_hook(before)
    hooks(torch).register_optimizer_step_post_hook(after)


def clipped(change: Any, torch: Any) -> None:
    """Gradients at a norm of 1 at most."""

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        held = [p for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        if held and float(torch.nn.utils.clip_grad_norm_(held, 1.0)) > 1.0:
            change.applied()

    hooks(torch).register_optimizer_step_pre_hook(before)


def cleared(change: Any, torch: Any) -> None:
    """No gradient outlives its step."""

    def before(optimizer: Any, args: Any, kwargs: Any) -> Any:
        if len(args) < 2 or not callable(args[1]):
            return None

        def closure() -> Any:
            optimizer.zero_grad()
            return args[1]()

        return (args[0], closure, *args[2:]), kwargs

    def after(optimizer: Any, args: Any, kwargs: Any) -> None:
        optimizer.zero_grad()
        change.applied()

    hooks(torch).register_optimizer_step_pre_hook(before)
    hooks(torch).register_optimizer_step_post_hook(after)


def stepped(change: Any, torch: Any) -> None:
    """After each backward a step of every optimizer that has had none by itself."""
    optimizers: list[Any] = []
    built, run = torch.optim.Optimizer.__init__, torch.autograd.backward
    own: set[int] = set()

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        built(self, *args, **kwargs)
        optimizers.append(self)

    def backward(*args: Any, **kwargs: Any) -> Any:
        result = run(*args, **kwargs)
        for optimizer in optimizers:
            if not own or id(optimizer) in own:
                own.add(id(optimizer))
                optimizer.step()
                optimizer.zero_grad()
                change.applied()
        return result

    torch.optim.Optimizer.__init__ = init
    torch.autograd.backward = backward


def held_all(change: Any, torch: Any) -> None:
    """Each optimizer that shares a parameter with a model takes in the rest of it, frozen ones too."""
    seen: list[Any] = []
    done: set[int] = set()

    def called(module: Any, args: Any) -> None:
        if not any(module is s for s in seen) and len(seen) < 500:
            seen.append(module)

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        if id(optimizer) in done:
            return
        done.add(id(optimizer))
        own = {id(p) for g in optimizer.param_groups for p in g["params"]}
        roots = [m for m in seen if any(id(p) in own for p in m.parameters())] or seen[:1]
        extra = {id(p): p for m in roots for p in m.parameters() if id(p) not in own}
        for p in [p for m in roots for p in m.parameters()]:
            if not p.requires_grad and p.is_floating_point():
                p.requires_grad_(True)
                change.applied()
        if extra:
            optimizer.add_param_group({"params": list(extra.values())})
            change.applied()

    torch.nn.modules.module.register_module_forward_pre_hook(called)
    hooks(torch).register_optimizer_step_pre_hook(before)


def mastered(change: Any, torch: Any) -> None:
    """Steps on masters in float32 of what lies in half precision."""
    kept: dict[int, Masters] = {}

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        if kept.setdefault(id(optimizer), Masters()).before(optimizer):
            change.applied()

    hooks(torch).register_optimizer_step_pre_hook(before)
    hooks(torch).register_optimizer_step_post_hook(lambda optimizer, args, kwargs: kept[id(optimizer)].after())


CHANGES = {
    "master weights": mastered,
    "gradients clipped": clipped,
    "gradients cleared": cleared,
    "step inserted": stepped,
    "all parameters trained": held_all,
    "schedule left out": unscheduled,
}
