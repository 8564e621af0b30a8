"""Section: the statements of a running function that lead to a loss, cut so that they can run again on the values that are still there."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from ..capture.operands import MISSING, at_instruction, operand_nodes, rooted, value_of
from ..capture.provenance import LOOPS, function_of

CONTEXTS = ("autocast", "enable_grad", "set_grad_enabled", "sdpa_kernel", "sdp_kernel", "amp", "default_device")  # entered anew
ONCE = frozenset(
    "next input open print pop popleft push put send recv sample_batch read readline write save step backward zero_grad get_batch".split()
)  # calls that a second run must not make
MUTATORS = frozenset("append extend add insert update setdefault".split())


class CannotReplay(Exception):
    """The frame can't be run again; says why."""


@dataclass(slots=True)
class Section:
    """Code to run, the expression of the loss, and the names that must hold the batch anew."""

    code: CodeType
    loss: CodeType
    first: int
    last: int
    frame: FrameType
    rebound: list[ast.expr] = field(default_factory=list)  # targets of a loop whose values were overwritten since
    target: ast.expr | None = None  # the whole target of that loop
    loop: ast.expr | None = None  # what the loop runs over
    names: set[str] = field(default_factory=set)  # assigned by the section
    inner: list[tuple[str, Section]] = field(default_factory=list)  # (parameter, section) of the functions that were handed the loss, outermost first


def section(frame: FrameType, carries_graph: Any) -> Section:
    """The section of a frame that stands in the call of a backward pass. Raises CannotReplay.

    `carries_graph(value)` says whether a value is part of the graph, so that what made it must run again; other values stay as they are.
    """
    inner: list[tuple[str, Section]] = []
    for _ in range(6):
        function, call = function_of(frame), at_instruction(frame, frame.f_lasti)
        if function is None or call is None:
            raise CannotReplay("the source of the step is not to be had")
        loss = loss_of(call)
        if loss is None:
            raise CannotReplay("the loss is not written in the line that calls backward")
        blocks = around(function, frame.f_lineno)
        if not blocks:
            raise CannotReplay("the line of backward is not in its function")
        cut = Cut(frame, carries_graph)
        cut.need(loss)
        lost = cut.back(blocks)
        caller = handed(frame, lost[0] if lost else loss.id) if len(lost) == 1 or isinstance(loss, ast.Name) else None
        if lost and caller is None:
            raise CannotReplay(f"{lost[0]} was overwritten in the step and its old value is gone")
        if not lost and (cut.kept or not isinstance(loss, ast.Name)):
            made = cut.made(loss, frame)
            made.inner = inner
            return made
        if caller is None:
            raise CannotReplay("the loss came into the function that calls backward from elsewhere")
        if lost:  # the function goes on with what it was handed, as in loss = loss / parts
            inner.insert(0, (lost[0], cut.made(loss, frame)))
        frame = caller
    raise CannotReplay("the loss came through too many functions")


def loss_of(call: ast.AST) -> ast.expr | None:
    """The expression on which backward runs: `x` of x.backward(), torch.autograd.grad(x, ..), accelerator.backward(x), step(loss)."""
    if not isinstance(call, ast.Call):
        return None
    name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""
    given = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg in ("loss", "tensors", "outputs")), None)
    if isinstance(given, (ast.List, ast.Tuple)) and given.elts:
        given = given.elts[0]
    if name in ("backward", "manual_backward") and given is None and isinstance(call.func, ast.Attribute):
        return call.func.value
    if name == "backward" and isinstance(call.func, ast.Attribute) and isinstance(given, ast.Constant):
        return call.func.value
    if name in ("backward", "manual_backward", "grad") and given is not None:
        return given
    named = [a for a in call.args if isinstance(a, ast.Name) and "loss" in a.id.lower()]
    return named[0] if named else None


def handed(frame: FrameType, name: str) -> FrameType | None:
    """The caller's frame where the name is a parameter of this one."""
    code = frame.f_code
    caller = frame.f_back
    return caller if caller is not None and name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] else None


def around(function: ast.AST, line: int) -> list[tuple[ast.AST, list[ast.stmt], int]]:
    """(owner, block, index of the statement in it) from the innermost block round a line to the function's own."""
    found: list[tuple[ast.AST, list[ast.stmt], int]] = []
    owner = function
    while True:
        inside = None
        for name in ("body", "orelse", "finalbody"):
            block = getattr(owner, name, None)
            for i, s in enumerate(block if isinstance(block, list) else ()):
                if s.lineno <= line <= (s.end_lineno or s.lineno):
                    inside = (owner, block, i)
        for handler in getattr(owner, "handlers", ()):
            if handler.lineno <= line <= (handler.end_lineno or 0):
                return []
        if inside is None:
            return found[::-1]
        found.append(inside)
        owner = inside[1][inside[2]]


class Cut:
    """Walks back from the loss and keeps the statements that it needs."""

    def __init__(self, frame: FrameType, carries_graph: Any) -> None:
        self.frame, self.carries_graph = frame, carries_graph
        self.needed: set[str] = set()
        self.kept: list[ast.stmt] = []
        self.bound: set[str] = set()  # names that the section assigns
        self.wanted_old: set[str] = set()  # names read by the section before it assigns them anew
        self.rebound: list[ast.expr] = []
        self.target: ast.expr | None = None
        self.loop: ast.expr | None = None

    def need(self, node: ast.AST) -> None:
        self.needed |= {ast.unparse(n) for n in operand_nodes(node)} | {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}

    def back(self, blocks: list[tuple[ast.AST, list[ast.stmt], int]]) -> list[str]:
        """From the innermost block outwards, up to the loop or function that the step is a turn of; names whose old value is gone."""
        for owner, block, index in blocks:
            wrapped: list[ast.stmt] = []
            for s in reversed(block[:index]):
                if self.takes(s):
                    wrapped.insert(0, s)
            self.kept = wrapped + self.kept
            if isinstance(owner, (ast.With, ast.AsyncWith)) and enters(owner):
                self.kept = [ast.copy_location(ast.With(items=owner.items, body=self.kept or [ast.Pass()]), owner)]
            if isinstance(owner, LOOPS):
                if isinstance(owner, ast.For) and self.over(owner):
                    return []
                if not self.open():
                    return []  # all that is needed is as it was
            if isinstance(owner, (ast.FunctionDef, ast.AsyncFunctionDef)):
                break
        return sorted(self.open())

    def open(self) -> set[str]:
        """Names whose value at the section's beginning is not what they hold now."""
        return {n for n in self.wanted_old if n in self.needed}

    def over(self, loop: ast.For) -> bool:
        """Does the loop bind what is still missing? Then the batch is put back into its target."""
        names = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
        missing = self.open()
        if missing and missing <= names:
            self.target, self.loop = loop.target, loop.iter
            return True
        return False

    def takes(self, s: ast.stmt) -> bool:
        """Must the statement run again? It must if it makes what is needed and that is part of the graph, or was overwritten since."""
        stores = stored(s) & self.needed
        if not stores:
            return False
        again = any(name in self.wanted_old for name in stores) or any(self.graph(name) for name in stores)
        if not again:
            return False
        forbidden = sorted(called(s) & ONCE)
        if forbidden:
            raise CannotReplay(f"line {s.lineno} calls {forbidden[0]}, which must not run twice")
        self.bound |= stores
        self.wanted_old -= stores
        before = set(self.needed)
        self.needed -= {n for n in stores if not isinstance(s, ast.AugAssign)}
        self.need(s)
        reads = loaded(s)
        self.wanted_old |= {n for n in reads if n in self.bound}
        self.needed |= before & reads
        return True

    def graph(self, name: str) -> bool:
        value = value_of(self.frame, ast.parse(name, mode="eval").body)
        return value is not MISSING and bool(self.carries_graph(value))

    def made(self, loss: ast.expr, frame: FrameType) -> Section:
        """Compile what was kept under the file's own name and line numbers."""
        file = frame.f_code.co_filename
        module = ast.fix_missing_locations(ast.Module(body=self.kept or [ast.copy_location(ast.Pass(), loss)], type_ignores=[]))
        expression = ast.fix_missing_locations(ast.Expression(body=loss))
        first = self.kept[0].lineno if self.kept else loss.lineno
        code, value = compile(module, file, "exec", dont_inherit=True), compile(expression, file, "eval", dont_inherit=True)
        return Section(code, value, first, loss.lineno, frame, self.rebound, self.target, self.loop, set(self.bound))


def stored(s: ast.stmt) -> set[str]:
    """Names and attributes that a statement binds, inner blocks included."""
    found = set()
    for node in ast.walk(s):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store) and rooted(node):
            found.add(ast.unparse(node))
            if isinstance(node, ast.Subscript):
                found.add(ast.unparse(node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and mutates(node.func.attr) and rooted(node.func.value):
            found.add(ast.unparse(node.func.value))
    return found


def mutates(method: str) -> bool:
    """Does a method change its object: one of a container, or one of a tensor in place?"""
    return method in MUTATORS or (method.endswith("_") and not method.startswith("_"))


def called(s: ast.stmt) -> set[str]:
    """The last names of all calls in a statement."""
    calls = [n.func for n in ast.walk(s) if isinstance(n, ast.Call)]
    return {f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "") for f in calls}


def enters(owner: ast.With | ast.AsyncWith) -> bool:
    """Does a with-block set how torch computes? Then it is entered anew."""
    return any(k in ast.unparse(i.context_expr) for i in owner.items for k in CONTEXTS)


def loaded(s: ast.stmt) -> set[str]:
    """Names that a statement reads; those of `x += y` too."""
    found = {n.id for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name):
        found.add(s.target.id)
    return found
