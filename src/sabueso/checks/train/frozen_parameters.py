"""frozen-parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...parameters import harmless, idle_rows, layer_line, nothing_to_train, shared_module, size
from ...places import Place

LEADS_TO = ("not-learning", "underfitting", "learning-rate-too-low", "overfitting", "vanishing-gradient", "symmetric-init")


@check(stage="train", severity="error", leads_to=LEADS_TO, interventions=("all parameters trained",))
def frozen_parameters(parameters: list[Fact], *, least: int = 2) -> Iterator[Finding]:
    """Layers that were never trained keep their random weights, because they are frozen or no optimizer holds them.

    What it means
    -------------
    Parameters are as the initialiser drew them and stay so: `requires_grad` is off, or the optimizer was built without them (before layers
    were replaced, or from a list that leaves them out).
    Why it is bad
    -------------
    The rest of the model has to work on (or through) a random map.
    Evidence
    --------
    Values equal to those that the initialiser drew, after at least two steps in which other layers of the same model changed.
    Or all that an optimizer holds is frozen while it steps: nothing is trained, though gradients reach other layers.
    Silent for what was loaded, trained earlier in the run, or copied into; for models that are frozen as a whole (targets, teachers); and for
    a single random layer at the input that gives at least as many numbers as it takes (random features lose nothing).
    Remedy
    ------
    Set `requires_grad` (or freeze before the new layer is put in), or build the optimizer after the layers.
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(80, 6)
        y = (x.sum(1) > 0).long()
        net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 5))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)  # sabueso: frozen-parameters
        net[2] = nn.Linear(8, 2)
        for step in range(12):
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    Control
    -------
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(80, 6)
        y = (x.sum(1) > 0).long()
        net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 5))
        net[2] = nn.Linear(8, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(12):
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    References
    ----------
    PyTorch tutorial on fine-tuning ("parameters of newly constructed modules have requires_grad=True by default").
    """
    by_model: dict[tuple[int, str, int, int], list[Fact]] = defaultdict(list)
    for fact in parameters:
        by_model[fact.process, fact["model"], fact["optimizer"], fact.get("version") or 0].append(fact)
    for facts in by_model.values():
        last = facts[-1]
        if last["steps"] >= least and (held := nothing_to_train(last, parameters)):
            yield told(last, held, held, facts[0].place.step)
            continue
        elsewhere = trained_by_another(last, parameters)  # stages: the head first, then all
        idle = [r for r in idle_rows(facts) if r["path"] not in elsewhere]
        trained = [r for r in last["rows"] if r["changed"] or r["stepped"]]
        unheld = [r for r in idle if r["requires_grad"]]
        beside = bool(unheld) and all(r["reached"] for r in unheld) and learns_beside(last, parameters)  # another model is trained on what this one gives
        left_behind = bool(unheld) and all(f["orphans"] for f in facts)  # the optimizer holds the layers that were replaced: nothing may be trained at all
        if last["steps"] < least or not idle or not (trained or left_behind or beside) or harmless(unheld or idle, last["rows"]):
            continue
        idle = unheld or idle
        frozen = [r for r in idle if not r["requires_grad"]]
        yield told(last, idle, frozen, facts[0].place.step)


def trained_by_another(fact: Fact, parameters: list[Fact]) -> set[str]:
    """Paths of the same model, as it is, that another optimizer of the run changes."""
    others = [f for f in parameters if f.process == fact.process and f["model"] == fact["model"] and f["optimizer"] != fact["optimizer"]]
    return {r["path"] for f in others if (f.get("version") or 0) == (fact.get("version") or 0) for r in f["rows"] if r["changed"] or r["stepped"]}


def learns_beside(fact: Fact, parameters: list[Fact]) -> bool:
    """Does the optimizer of these steps train another model?"""
    others = [f for f in parameters if f.process == fact.process and f["optimizer"] == fact["optimizer"] and f["model"] != fact["model"]]
    return any(r["changed"] or r["stepped"] for f in others for r in f["rows"])


def told(fact: Fact, idle: list[dict[str, Any]], frozen: list[dict[str, Any]], step: int | None) -> Finding:
    """The finding of one model."""
    module = shared_module([r["path"] for r in idle if not r["path"].startswith("(hidden)")]) or fact["model"]
    count, everything = sum(size(r) for r in idle), sum(size(r) for r in fact["rows"]) or 1
    evidence: list[tuple[str, Any, Any]] = [
        (f"parameters of {fact['model']} that are as the initialiser drew them after {fact['steps']} steps", count, f"0 of {everything}"),
    ]
    line = fact.get("optimizer_line")
    if len(frozen) == len(idle):
        line = next((r["frozen_at"] for r in idle if r.get("frozen_at")), None) or layer_line(idle) or fact["built"]
        remedy = f"let `{module}` be trained (requires_grad / trainable = True), or load its weights before it is frozen"
        if all(r["untouched"] for r in idle):
            evidence.append((f"requires_grad of `{idle[0]['path']}`", False, "True: it was neither loaded nor trained before"))
            says = f"`{module}` was never trained or loaded, yet it is frozen: its weights stay random"
        else:
            evidence = [("parameters that the optimizer holds", count, None), ("of these frozen", count, 0)]
            says, remedy = (
                f"all that the optimizer holds (`{module}`) is frozen: its steps change nothing",
                f"let some of `{module}` be trained, or hold what is",
            )
    else:
        says = f"no optimizer holds `{module}`: it gets gradients but is never changed"
        evidence.append(("parameters that the optimizer holds but the model no longer has", fact["orphans"], 0))
        remedy = "build the optimizer after all layers are in place, from all parameters of the model"
        if any(r["path"].startswith("(hidden)") or r.get("plain") for r in idle):
            says = "layers that are kept outside of the model's modules (a plain list or dictionary) are missing from its parameters()"
            remedy, line = "keep layers in nn.ModuleList or nn.ModuleDict", next((r["line"] for r in idle if r.get("line")), line)
    file, number = line if line else (fact.place.file, fact.place.line)
    return Finding(says=says, place=Place(stage="train", file=file, line=number, module=module, tensor=idle[0]["path"], step=step),
                   evidence=evidence, remedy=remedy, confidence=0.93, verified="fact")  # fmt: skip
