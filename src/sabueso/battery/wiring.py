"""Is everything connected: does a gradient reach each parameter, does the optimizer hold it, does the mode arrive, is all of it saved?"""

from __future__ import annotations

from typing import Any

from ..findings import Finding
from ..places import NOWHERE, Place
from .answers import Answer, fault
from .contract import Pass
from .subject import Subject
from .tape import Operation, Tape

MOST_NAMES = 5


def gradient_reaches(subject: Subject) -> Answer:
    """Each parameter that is to be trained gets a gradient, or it is told where that is cut."""
    question = "a gradient reaches every parameter"
    held: Pass | None = subject.memory.get("pass")
    if held is None:
        return Answer(question, None, "no forward pass to look at")
    named = list(held.part.model.named_parameters())
    wanted = {n: p for n, p in named if p.requires_grad}
    lost = [n for n, p in wanted.items() if p.grad is None]
    findings = ([*cut_or_unused(held.tape, lost, len(wanted))] if lost else []) + frozen(held, named)
    numbers = [("parameters without a gradient", len(lost), 0), ("parameters to be trained", len(wanted), len(named))]
    return Answer(
        question, not [f for f in findings if f.severity != "note"], findings[0].says if findings else f"all {len(wanted)} of them", numbers, findings
    )


def cut_or_unused(tape: Tape, lost: list[str], count: int) -> list[Finding]:
    """Parameters that took part and were cut off, and such as never took part."""
    took = set().union(*(op.parameters for op in tape)) if tape.operations else set()
    cut, unused, found = [n for n in lost if n in took], [n for n in lost if n not in took], []
    if cut:
        spot = where_cut(tape, set(cut))
        name = readable(spot.name) if spot else "an operation"
        found.append(
            fault(
                "graph-broken",
                f"{name} lets no gradient through: {len(cut)} of {count} parameters learn nothing ({listed(cut)})",
                [("parameters cut off from the loss", len(cut), 0)],
                f"take {name} out of the way from these layers to the loss",
                (spot.place if spot else NOWHERE).but(tensor=cut[0]),
                confidence=0.97,
                verified="fact",
            )
        )
    if unused:
        owner = unused[0].rpartition(".")[0]
        found.append(
            fault(
                "frozen-parameters",
                f"{listed(unused)} never take part in the forward pass",
                [("parameters that no output depends on", len(unused), 0)],
                f"call `{owner or unused[0]}` in forward, or remove it",
                Place(module=owner or None, tensor=unused[0]),
                severity="warning",
                confidence=0.95,
                verified="fact",
            )
        )
    return found


def where_cut(tape: Tape, lost: set[str]) -> Operation | None:
    """The first operation that depends on lost parameters and hands on no gradient, though floating numbers went in."""
    cuts = [op for op in tape if op.parameters & lost and not any(t.requires_grad for t in op.outputs) and (op.cuts or not op.grad)]
    return next(
        (op for op in cuts if op.cuts and op.name in ("detach", "__get__", "argmax", "round", "numpy", "floor", "sign", "clone", "item")),
        cuts[0] if cuts else None,
    )


def readable(name: str) -> str:
    return "`.data`" if name == "__get__" else f"`{name}`"


def frozen(held: Pass, named: list[Any]) -> list[Finding]:
    """Parameters that are set not to learn: all of them, or the last layer while others do. A frozen trunk is how fine-tuning is done."""
    still = [n for n, p in named if not p.requires_grad]
    free = [n for n, p in named if p.requires_grad]
    if not still:
        return []
    order = [n for op in held.tape for n in sorted(op.parameters)]
    last = max(still, key=lambda n: order.index(n) if n in order else -1)
    met = next((op for op in held.tape if last in op.parameters), None)
    fed = met is not None and bool(met.parameters & set(free))  # a frozen teacher beside the model is fed by nothing that learns
    behind = not free or fed and all(order.index(n) < order.index(last) for n in free if n in order and last in order)
    if not behind:
        return [
            fault(
                "frozen-parameters",
                f"{len(still)} parameters are frozen in front of layers that learn",
                [("frozen parameters", len(still), "on purpose")],
                "nothing, where it is meant so",
                Place(tensor=still[0]),
                severity="note",
            )
        ]
    owner = last.rpartition(".")[0]
    says = "every parameter is frozen: nothing can learn" if not free else f"{owner or last} makes the output and is frozen (requires_grad is False)"
    return [
        fault(
            "frozen-parameters",
            says,
            [("frozen parameters", len(still), 0), ("parameters to be trained", len(free), len(named))],
            f"set requires_grad of `{owner or last}` to True",
            Place(module=owner or None, tensor=last),
            severity="error" if not free else "warning",
            confidence=0.95,
            verified="fact",
        )
    ]


def optimizer_holds(subject: Subject) -> Answer:
    """The optimizer has the model's parameters, and only those."""
    question = "the optimizer holds what is to be trained"
    held: Pass | None = subject.memory.get("pass")
    model, optimizer = subject.given.model, subject.given.optimizer
    hidden = hidden_parameters(model, subject.torch)
    if optimizer is None and not hidden:
        return Answer(question, None, "no optimizer was given")
    findings = [hidden_fault(hidden)] if hidden else []
    numbers: list[Any] = [("parameters outside of model.parameters()", len(hidden), 0)]
    if optimizer is not None:
        has = {id(p) for g in optimizer.param_groups for p in g["params"]}
        own = {id(p): n for n, p in model.named_parameters()}
        foreign = len(has - set(own) - {id(p) for p in getattr(subject.given.loss, "parameters", tuple)()} - {id(p) for _, p in hidden})
        left = [n for n, p in model.named_parameters() if p.requires_grad and id(p) not in has]
        numbers += [("trainable parameters that it lacks", len(left), 0), ("tensors of it that the model lacks", foreign, 0)]
        findings += lacking(held, left, {n for i, n in own.items() if i in has}, foreign, len(own))
    return Answer(question, not [f for f in findings if f.severity != "note"], findings[0].says if findings else "all of it", numbers, findings)


def lacking(held: Pass | None, left: list[str], holds: set[str], foreign: int, count: int) -> list[Finding]:
    """Left out: the trunk by intent, or something else by mistake?"""
    if not left:
        return []
    order = [n for op in (held.tape if held else ()) for n in sorted(op.parameters)]
    rest = [n for n in order if n in holds]
    trunk = bool(rest) and not foreign and all(order.index(n) < order.index(rest[0]) for n in left if n in order) and all(n in order for n in left)
    says = f"{len(left)} of {count} parameters are in no optimizer, such as {listed(left)}" + (
        f", while {foreign} tensors that it holds are not the model's" if foreign else ""
    )
    return [
        fault(
            "frozen-parameters",
            says,
            [("trainable parameters that the optimizer lacks", len(left), 0), ("tensors that it holds and the model lacks", foreign, 0)],
            "make the optimizer after the model is complete, from `model.parameters()`",
            Place(module=left[0].rpartition(".")[0] or None, tensor=left[0]),
            severity="note" if trunk else "error",
            confidence=0.95,
            verified="fact",
        )
    ]


def hidden_parameters(model: Any, torch: Any) -> list[tuple[str, Any]]:
    """Parameters in plain lists, dictionaries and attributes of modules, which `parameters()` does not see."""
    own, found = {id(p) for p in model.parameters()}, {}
    for path, module in model.named_modules():
        for name, value in vars(module).items():
            if name.startswith("_") and name in ("_parameters", "_modules", "_buffers"):
                continue
            for part in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]:
                held = (
                    list(part.parameters())
                    if isinstance(part, torch.nn.Module)
                    else [part]
                    if isinstance(part, torch.nn.Parameter) or torch.is_tensor(part) and part.requires_grad and part.is_leaf
                    else []
                )
                for p in held:
                    if id(p) not in own:
                        found.setdefault(id(p), (f"{path}.{name}".lstrip("."), p))
    return list(found.values())


def hidden_fault(hidden: list[tuple[str, Any]]) -> Finding:
    names = list(dict.fromkeys(n for n, _ in hidden))
    return fault(
        "frozen-parameters",
        f"{len(hidden)} parameters lie in {listed(names)}, where parameters(), to() and state_dict() do not find them",
        [("parameters outside of model.parameters()", len(hidden), 0)],
        f"make `{names[0]}` an nn.ModuleList, nn.ModuleDict or nn.Parameter of the module",
        Place(module=names[0].rpartition(".")[0] or None, tensor=names[0]),
        confidence=0.97,
        verified="fact",
    )


def mode_arrives(subject: Subject) -> Answer:
    """model.train() and model.eval() reach every part, and stay so through a forward pass."""
    question = "train() and eval() reach every layer"
    model = subject.fresh().model
    wrong: list[str] = []
    for flag in (True, False):
        model.train(flag)
        try:
            with subject.torch.no_grad():
                subject.call(model)
        except Exception:
            return Answer(question, None, f"no forward pass in {'training' if flag else 'evaluation'} mode")
        wrong += [n or type(m).__name__ for n, m in model.named_modules() if m.training is not flag and live(m, model) and n not in wrong]
    findings = fast_norms(model)
    if wrong:
        says, numbers = f"{listed(wrong)} has another mode than the model after train(), eval() and a forward pass", [("layers of another mode", len(wrong), 0)]
        remedy = "do not call train() or eval() in forward, nor override train() without the flag"
        findings.insert(0, fault("wrong-mode", says, numbers, remedy, Place(module=wrong[0]), "warning", verified="fact"))
    return Answer(question, not findings, findings[0].says if findings else "they do", [("layers of another mode", len(wrong), 0)], findings)


def fast_norms(model: Any) -> list[Finding]:
    """Batch norms whose stored statistics are those of the last batch, or none."""
    norms = {n or type(m).__name__: m for n, m in model.named_modules() if "BatchNorm" in type(m).__name__ and m.track_running_stats and m.momentum is not None}
    fast = [n for n, m in norms.items() if not 0 < m.momentum <= 0.5]
    if not fast:
        return []
    momentum = norms[fast[0]].momentum
    says = f"{listed(fast)} has a momentum of {momentum}: its stored statistics are {'those of the last batch' if momentum else 'never updated'}"
    numbers = [("momentum", momentum, "0.1 or so: the share of the newest batch")]
    remedy = "set momentum=0.1 (other libraries count it the other way round)"
    return [fault("tiny-batch-norm", says, numbers, remedy, Place(module=fast[0]), "warning", verified="fact")]


def live(module: Any, model: Any) -> bool:
    """Does its mode matter: the whole model, or a part that learns and drops? A frozen trunk kept in evaluation is on purpose."""
    learns = any(p.requires_grad for p in module.parameters())
    return module is model or learns and any("Dropout" in type(m).__name__ for m in module.modules())


def saved_whole(subject: Subject) -> Answer:
    """A state dictionary loaded into a model with other weights gives the same answers."""
    question = "saving and loading keeps the answers"
    torch, one, two = subject.torch, subject.fresh().model, subject.fresh().model
    with torch.no_grad():
        for value in [*two.parameters(), *two.buffers()]:
            if value.is_floating_point():
                value.mul_(0.5).add_(0.01)
        for _, value in hidden_parameters(two, torch):
            value.mul_(0.5).add_(0.01)
    try:
        want = subject.predict(one)
        two.load_state_dict(one.state_dict())
        got = subject.predict(two)
    except Exception as error:
        return Answer(question, False, f"loading fails: {type(error).__name__}: {str(error).splitlines()[0]}", [("exception", type(error).__name__, "none")])
    apart = float((want.float() - got.float()).abs().max()) if want.shape == got.shape else float("inf")
    if apart == 0 or apart != apart:
        return Answer(question, True, "they are equal to the bit", [("largest difference", apart, 0)])
    lost = [n for n, _ in two.named_buffers() if n not in one.state_dict()] + [n for n, _ in hidden_parameters(one, torch)]
    settled = [n for n, b in one.named_buffers() if n not in one.state_dict()]
    if settled and not hidden_parameters(one, torch):
        return Answer(question, None, f"{listed(settled)} is left out of the state on purpose (persistent=False)", [("largest difference", apart, 0)])
    found = fault(
        "frozen-parameters",
        f"the state dictionary lacks {listed(lost) or 'a part of the model'}: a loaded model answers otherwise",
        [("largest difference after loading", apart, 0)],
        "register it as a parameter or buffer",
        Place(tensor=lost[0] if lost else None),
        severity="warning",
        stage="deploy",
    )
    return Answer(question, False, found.says, found.evidence, [found])


def listed(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
