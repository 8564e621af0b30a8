"""Backward: the cheap way to an operation whose slope is not finite.

The step's calls are noted by the person's line (a function mode, no dispatch), each node of its backward pass tells whether what it got and
what it gave are finite, and the guilty node alone runs again with its operations watched. Where something else is at work (values that are
not finite in the forward pass, a function of the person's own) there is no answer, and every operation of the step is watched instead.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from .dispatch import MOST_BIRTHS, Hunt, TooLong, bad, standing, tensors

TOLD = 3  # births that are taken apart


def calls_of(torch: Any) -> type:
    """The function mode; a class that can only be made once torch is there."""

    class Calls(sys.modules["torch.overrides"].TorchFunctionMode):  # type: ignore[misc, name-defined]
        """Notes module and line for the nodes that each call makes, choices of rows, and whether all results are finite."""

        def __init__(self, hunt: Hunt) -> None:
            super().__init__()
            self.hunt, self.number, self.finite = hunt, torch.autograd._get_sequence_nr, True

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            hunt, before = self.hunt, self.number()
            result = func(*args, **(kwargs or {}))
            hunt.ops += 1
            made = range(before, self.number())
            if made:
                hunt.made_in.update(dict.fromkeys(made, (hunt.stack[-1] if hunt.stack else None, standing(sys._getframe(1)))))
            if self.finite and (made or type(result) is not torch.Tensor or result.is_floating_point()):
                self.finite = not any(bad(torch, t) for t in tensors(torch, result))
            if func in CHOICES:
                self.choose(args)
            return result

        def choose(self, args: Any) -> None:
            """Rows of data are chosen, as in `X[ids]`."""
            index = args[-1][0] if isinstance(args[-1], tuple) and args[-1] else args[-1]
            if isinstance(index, torch.Tensor) and index.dim() == 1 and not index.is_floating_point() and index.dtype != torch.bool:
                if isinstance(args[0], torch.Tensor) and not args[0].requires_grad:
                    hunt = self.hunt
                    hunt.picked = [*hunt.picked[-7:], (args[0], index)]

    CHOICES = (torch.Tensor.__getitem__, torch.Tensor.index_select, torch.index_select)
    return Calls


class Slopes:
    """One backward pass with each node asked; `births` says which nodes were the first, and which of these reach a leaf."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.nodes: list[Any] = []
        self.taint: dict[int, set[int]] = {}  # id of a node -> numbers of births that reach what it gets
        self.births: list[tuple[Any, Any]] = []  # node, what it got
        self.clear = True  # every non-finite slope has a birth that is known

    def reaching(self, loss: Any) -> list[tuple[Any, Any]]:
        """The nodes where slopes of the loss stopped being finite, those alone that reach a leaf, in order."""
        torch = self.torch
        leaves, handles = self.hang(loss)
        try:
            ones = torch.ones_like(loss) if loss.dim() else None
            found = torch.autograd.grad(loss, [n.variable for n in leaves], grad_outputs=ones, allow_unused=True, retain_graph=True)
        finally:
            for handle in handles:
                handle.remove()
        ends = [n for n, g in zip(leaves, found) if g is not None and bad(torch, g)]
        reached: set[int] = set().union(*(self.taint.get(id(n), set()) for n in ends))
        return [self.births[k] for k in sorted(reached)] if all(id(n) in self.taint for n in ends) else []

    def hang(self, loss: Any) -> tuple[list[Any], list[Any]]:
        """Hooks on all nodes but the leaves."""
        leaves, handles, seen, queue = [], [], set(), [loss.grad_fn]
        while queue:
            node = queue.pop()
            if node is None or id(node) in seen:
                continue
            seen.add(id(node))
            self.nodes.append(node)  # keeps it alive: its id stays its own
            if not hasattr(node, "variable"):
                handles.append(node.register_hook(partial(self.ran, len(self.nodes) - 1)))
                queue.extend(n for n, _ in node.next_functions)
            elif node.variable.requires_grad:
                leaves.append(node)
        return leaves, handles

    def ran(self, number: int, gave: Any, got: Any) -> None:
        """A node is done: were its slopes the first that are not finite?"""
        torch, node = self.torch, self.nodes[number]
        wrong = [k for k, g in enumerate(gave) if g is not None and bad(torch, g)]
        if not wrong:
            return
        marks = self.taint.get(id(node), set())
        if not any(g is not None and bad(torch, g) for g in got):
            self.births.append((node, got))
            marks = {len(self.births) - 1}
        self.clear = self.clear and bool(marks) and len(self.births) < MOST_BIRTHS
        for k in wrong:
            after = node.next_functions[k][0]
            if after is not None:
                self.taint.setdefault(id(after), set()).update(marks)


def born(hunt: Hunt, loss: Any, watching: Any, torch: Any) -> list[dict[str, Any]] | None:
    """The operations within the backward pass of a loss that made its gradients non-finite; None where this way can't tell."""
    slopes, told = Slopes(torch), []
    try:
        guilty = slopes.reaching(loss)
        for node, got in guilty[:TOLD]:
            own = isinstance(node, torch._C._FunctionBase)  # written by a person: it can't be called by itself
            if not slopes.clear or own or node._sequence_nr() not in hunt.made_in:
                return None
            birth = within(hunt, node, got, watching, torch)
            if birth is None:
                return None
            told.append(birth)
    except TooLong:
        raise
    except Exception:  # a node that can't be called by itself
        return None
    finally:
        slopes.nodes.clear()  # a node keeps its hooks, these keep the nodes
        slopes.births.clear()
    return told or None


def within(hunt: Hunt, node: Any, got: Any, watching: Any, torch: Any) -> dict[str, Any] | None:
    """The operation of one node; None if what it works with was not finite."""
    first, hunt.node = len(hunt.births), node
    try:
        with watching, torch.no_grad():
            gave = node(*got)
    finally:
        hunt.node = None
    ends = [t for t in tensors(torch, gave) if bad(torch, t)]
    numbers: set[int] = set().union(*(hunt.taint.get(id(t), frozenset()) for t in ends))
    if not numbers or any(b["how"] != "computed" for b in hunt.births[first:]):
        return None
    return hunt.births[min(numbers)]
