"""memory-growth."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact, latest
from ...findings import Finding
from ...places import Place

MB = 1 << 20


@check(stage="resources", severity="error", leads_to=("out-of-memory", "input-bound"))
def memory_growth(
    memory_held: list[Fact],
    *,
    least: int = 48 * MB,
    least_entries: int = 4,
    least_misses: int = 500,
    hit_rate: float = 0.02,
    limit: float = 0.8,
) -> Iterator[Finding]:
    """Memory grows with every step, because something keeps what the steps made.

    What it means
    -------------
    A list or a running mean holds tensors together with the graph that they came from, or a cache keeps entries that are never asked for again.

    Why it is bad
    -------------
    The program slows down and is killed in the end; a longer run cannot be made.

    Evidence
    --------
    Resident memory at the first steps and at the end; the container that got longer at each look, or the cache's own counts of hits and
    misses. Threshold: 48 MB, and a holder that explains them: elements with a graph, or a cache with under 2 % hits. A container that
    merely fills is only told once it takes 80 % of the memory there is.

    Remedy
    ------
    Keep numbers, not tensors (`loss.item()`, or compute under `torch.no_grad()`); give a cache keys that come back, or a small maxsize.

    Fault
    -----
        import torch

        torch.manual_seed(0)
        net = torch.nn.Linear(64, 2000)
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        x = torch.randn(300, 64)
        history = []
        for step in range(120):
            loss = net(x[:20]).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            history.append(torch.sigmoid(net(x)).mean())  # sabueso: memory-growth
            float(torch.randn(400, 400).matmul(torch.randn(400, 400)).sum())
        print(len(history))

    Control
    -------
        import torch

        torch.manual_seed(0)
        net = torch.nn.Linear(64, 2000)
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        x = torch.randn(300, 64)
        history = []
        for step in range(120):
            loss = net(x[:20]).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            history.append(loss)
            with torch.no_grad():
                history.append(torch.sigmoid(net(x)).mean())
        print(len(history))

    Known limits
    ------------
    Containers within libraries, and memory that a library in C holds, have no name here.
    """
    for fact in latest(memory_held):
        grown = fact["end"] - fact["start"]
        if grown < least:
            continue
        steps = max(1, fact["steps"])
        common = [
            ("MB in memory at the first steps", round(fact["start"] / MB), None),
            ("MB in memory at the end", round(fact["end"] / MB), f"about {round(fact['start'] / MB)}"),
            ("KB more a step", round(grown / steps / 1024), "about 0"),
        ]
        caches = [c for c in fact["caches"] if c["misses"] >= least_misses and c["hits"] < hit_rate * c["misses"] and c["bytes"] > grown / 4]
        graphs = [h for h in fact["holders"] if h["graph"] > grown / 4 and h["to"] - h["from"] >= least_entries]
        full = [h for h in fact["holders"] if fact["limit"] and fact["end"] > limit * fact["limit"] and h["bytes"] > grown / 2]
        if caches:
            yield _of_cache(caches[0], common)
        elif graphs:
            yield _of_graph(graphs[0], common)
        elif full:
            yield _of_full(full[0], common, fact)


def _of_cache(cache: dict, common: list) -> Finding:
    return Finding(
        says=f"the cache of {cache['name']} keeps {cache['size']:,} results of which {cache['hits']:,} were ever asked for again: "
        f"every call brings a new key",
        place=Place(stage="resources", file=cache["file"], line=cache["line"], tensor=cache["name"]),
        evidence=[("calls that found nothing in the cache", cache["misses"], "few"), ("calls that found a result", cache["hits"], "most"),
                  ("MB held by the cache", round(cache["bytes"] / MB), None), *common[:2]],
        remedy=f"call {cache['name']} with keys that come back (round or look up the arguments, which are all different), or lower maxsize",
        confidence=0.9,
        verified="fact",
    )  # fmt: skip


def _of_graph(held: dict, common: list) -> Finding:
    name, value = held["name"], held["kind"] == "tensor"
    says = f"{name} keeps {held['to']} tensors together with the graph that each came from, so the activations of every one stay in memory"
    first = (f"tensors with a graph in {name}", held["to"], 0)
    if value:
        says = f"{name} is made anew from what it was, graph and all: by now {held['to']:,} operations stay in memory for it, with their activations"
        first = (f"operations in the graph of {name}", held["to"], held["from"])
    return Finding(
        says=says,
        place=Place(stage="resources", file=held["file"] or None, line=held["line"], tensor=name),
        evidence=[first, ("MB of activations that those graphs keep", round(held["graph"] / MB), 0), *common],
        remedy=f"{'make' if value else 'add numbers to'} {name} {'of numbers ' if value else ''}(`value.item()` or `value.detach()`), or compute the value "
        "under `with torch.no_grad():`",
        confidence=0.92,
        verified="fact",
    )


def _of_full(held: dict, common: list, fact: Fact) -> Finding:
    return Finding(
        says=f"{held['name']} has grown to {held['to']:,} entries and fills the memory",
        place=Place(stage="resources", file=held["file"] or None, line=held["line"], tensor=held["name"]),
        evidence=[("MB in the container", round(held["bytes"] / MB), None), ("MB there are", round(fact["limit"] / MB), None), *common[:2]],
        remedy=f"write what {held['name']} holds to disk, keep a summary of it, or drop old entries",
        severity="warning",
        confidence=0.7,
    )
