"""Paths in the trace of one sampled step: what goes on behind an operation that lets no gradient through."""

from __future__ import annotations

from .trace import Made

ADDS = frozenset({"add", "radd", "iadd", "sub", "rsub", "isub"})


def adds(order: list[Made], cut: Made, leads: set[int]) -> bool:
    """Is a single number that was made of what was cut off, and has no gradient, added to one that has: a term of the loss that trains nothing?"""
    known = {id(cut)}
    for m in order:
        if id(m) not in leads or m.number < cut.number:
            continue
        sources = [p for p in m.parents if id(p) in known]
        if sources and m.grad:
            if m.op in ADDS and single(m) and any(map(single, sources)) and any(p.grad and single(p) for p in m.parents):
                return True
        elif sources and m.dtype.is_floating_point:  # what was drawn or chosen has no slope in any case
            known.add(id(m))
    return False


def single(made: Made) -> bool:
    """Is it one number?"""
    return all(n == 1 for n in made.shape)


def feeds(order: list[Made], cut: Made, leads: set[int]) -> bool:
    """Does what was cut off go into a layer whose parameters get gradients?"""
    known = {id(cut)}
    for m in order:
        if id(m) in leads and m.number >= cut.number and any(id(p) in known for p in m.parents):
            if m.grad and any(p.op == "parameter" and p.grad for p in m.parents):
                return True
            known.add(id(m))
    return False


def looked_up(order: list[Made], index: Made, scores: dict[int, Made]) -> tuple[Made | None, Made | None]:
    """The table and the tensor of its rows that an index picked, where the index came from distances to that very table."""
    known = {id(index)}
    for m in order:
        if m.number <= index.number:
            continue
        if any(id(p) in known for p in m.parents):
            if m.op in ("embedding", "getitem", "index_select", "gather", "matmul", "mm"):
                table = next((p for p in m.parents if id(p) in scores), None)
                if table is not None:
                    return table, m
            if m.op in ("view", "reshape", "unsqueeze", "squeeze", "one_hot", "float", "to", "getitem", "type", "flatten", "expand", "scatter"):
                known.add(id(m))
    return None, None


def with_gradient(made: Made) -> list[Made]:
    """A record and the ancestors to which a gradient flows from it."""
    found = [made] if made.grad else []
    seen = {id(made)}
    for m in found:
        for p in m.parents:
            if p.grad and id(p) not in seen and len(found) < 2000:
                seen.add(id(p))
                found.append(p)
    return found
