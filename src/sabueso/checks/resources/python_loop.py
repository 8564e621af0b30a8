"""python-loop."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact, latest
from ...findings import Finding
from ...places import Place


@check(stage="resources", severity="warning", leads_to=("input-bound", "small-batch"))
def python_loop(
    hot_lines: list[Fact], *, share: float = 0.4, least_cpu: float = 0.25, least_turns: int = 50_000, least_tensor_turns: int = 1_000
) -> Iterator[Finding]:
    """Single elements of an array are handled in a Python loop, where one call on the whole array would do.

    What it means
    -------------
    Most of the program's time goes into a loop that reads an array one element (or one short row) at a time, and no turn needs the turn
    before.

    Why it is bad
    -------------
    A turn of a Python loop over array elements costs about a microsecond, over tensors about ten (each makes nodes for the backward pass,
    too); the same arithmetic on the whole array costs a nanosecond an element.

    Evidence
    --------
    The share of the main thread's CPU seconds in the loop (imports and the backward pass left out), from 20 looks a second, and the
    number of turns by the lengths of what it runs over. Threshold: 40 % of the time, and 50,000 turns of array elements or 1,000 of
    tensors. Loops whose turns depend on each other, that may end early or call anything but arithmetic are left alone.

    Remedy
    ------
    Write it on the whole array (broadcasting, a matrix product, `cdist`), or use a library call such as scipy's cKDTree.

    Fault
    -----
        import numpy as np

        points = np.random.default_rng(0).random((1500, 2))
        near = np.empty(len(points))
        for i in range(len(points)):
            best = 9.0
            for j in range(1500):  # sabueso: python-loop
                best = min(best, abs(points[i, 0] - points[j, 1]))
            near[i] = best
        print(near.mean())

    Control
    -------
        import numpy as np

        points = np.random.default_rng(0).random((1500, 2))
        near = np.abs(points[:, 0][:, None] - points[:, 1]).min(1)
        state = np.zeros(2)
        for i in range(200_000):
            state[0] = 0.9 * state[0] + points[i % 1500, 0]
        print(near.mean(), state)

    Known limits
    ------------
    A helper of the person's that is called in the loop is not looked into, and lists are no arrays.
    """
    for fact in latest(hot_lines):
        active = fact["cpu"] - fact.get("backward", 0.0)
        best: dict[tuple[str, int], tuple[float, dict]] = {}
        for line in fact["lines"]:
            loop = line.get("loop")
            if not loop:
                continue
            key = (loop["file"], loop["outer"])
            held = best.get(key)
            own = _within(fact["lines"], loop)
            if held is None or own > held[0] or (own == held[0] and loop["turns"] > held[1]["turns"]):
                best[key] = (own, loop)
        for own, loop in sorted(best.values(), key=lambda x: -x[0])[:1]:
            enough = least_tensor_turns if loop["kind"] == "tensor" else least_turns
            if own < least_cpu or own < share * active or loop["turns"] < enough:
                continue
            part = own / max(active, 1e-9)
            names = " and ".join(loop["reads"])
            sizes = ", ".join(f"{n} {tuple(s)}" for n, s in zip(loop["reads"], loop["shapes"]))
            yield Finding(
                says=f"{part:.0%} of the program's time goes into a Python loop that reads {names} one element at a time: {loop['turns']:,} turns a pass",
                place=Place(stage="resources", file=loop["file"], line=loop["line"], tensor=loop["reads"][0]),
                evidence=[
                    ("turns of the loop a pass", loop["turns"], "one call on the whole array"),
                    ("share of the CPU time outside imports and backward", round(part, 3), f"under {share}"),
                    ("CPU seconds in the loop", round(own, 2), None),
                    ("arrays read element by element", sizes, None),
                ],
                remedy=_remedy(loop),
                confidence=0.9,
                verified="fact",
            )


def _within(lines: list[dict], loop: dict) -> float:
    """CPU seconds under the lines of that loop, each look counted in the function that loops."""
    inside = [x for x in lines if x["file"] == loop["file"] and loop["outer"] <= x["line"] <= loop["end"]]
    functions = {x["function"] for x in inside if x.get("loop") and not x["function"].startswith("<listcomp")}
    return float(sum(x["all"] for x in inside if not functions or x["function"] in functions))


def _remedy(loop: dict) -> str:
    names = loop["reads"]
    if loop["kind"] == "tensor" and len(loop["lengths"]) > 1:
        whole = f"`{names[0]} @ {names[-1]}.T` or torch.cdist"
        return f"compute all pairs at once, for example {whole}, in place of the loops from line {loop['outer']}"
    if len(loop["lengths"]) > 1:
        a, b = names[0], names[-1]
        return f"work on the whole arrays: broadcast `{a}[:, None] - {b}[None]` and reduce over axis 1, or use scipy.spatial (cKDTree, cdist)"
    return f"apply the same arithmetic to `{names[0]}` as a whole in place of the loop at line {loop['outer']}"
