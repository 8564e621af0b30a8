"""Edits: a remedy as a change of the person's own line. A check tells it in words of the syntax; here it is applied to the source, or refused.

An edit is a tuple: ("before", code), ("after", code), ("around", code, code), ("replace", old, new), ("without", name),
("keyword", function, name, value[, position]), ("wrap", function, form), ("unwrap", function), ("exchange", function), ("assign",).
It is applied to the statement at the line of the finding, and only where there is one way to do so.
"""

from __future__ import annotations

import ast
import difflib
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

Edit = tuple[Any, ...]
ADDED = ("before", "after", "around")  # their code may only use names that are known at the line
Change = tuple[int, int, str]  # from and to which character of the source, and what stands there then


def applied(edit: Edit, text: str, line: int) -> str | None:
    """The source with the edit in it; None where it can't be applied without doubt."""
    try:
        tree = ast.parse(text)
        statement = _statement(tree, line)
        given = [_reached(code, tree, line) for code in edit[1:]] if edit[0] in ADDED else edit[1:]
        change = KINDS[edit[0]](_Source(text), statement, *given) if statement is not None and None not in given else None
        made = change and text[: change[0]] + change[2] + text[change[1] :]
        return made if made and ast.dump(ast.parse(made)) != ast.dump(tree) else None
    except (SyntaxError, ValueError, RecursionError, KeyError):  # a cell with magics, an edit of another version
        return None


def lines(before: str, after: str) -> list[tuple[str, str]]:
    """What differs, as ("-" or "+", line); where lines are only added, their neighbours too, as (" ", line)."""
    old, new = (textwrap.dedent(t.expandtabs(4)).splitlines() for t in (before, after))
    bare, around = ([(t[0], t[1:]) for t in list(difflib.unified_diff(old, new, n=n, lineterm=""))[2:] if t[0] in "+- "] for n in (0, 1))
    told = bare if any(sign == "-" for sign, _ in bare) else around
    return list(zip((sign for sign, _ in told), textwrap.dedent("\n".join(t for _, t in told)).split("\n")))


def regions(before: str, after: str) -> list[tuple[int, int, str]]:
    """What differs, as (first line, line behind the last, the lines in their place)."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    told = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(i + 1, j + 1, "".join(new[m:n])) for what, i, j, m, n in told if what != "equal"]


class _Source:
    """A text by the positions of syntax trees, which count columns in bytes."""

    def __init__(self, text: str) -> None:
        self.text, self._starts = text, [0]
        self._lines = [t + "\n" for t in text.split("\n")]
        for held in self._lines:
            self._starts.append(self._starts[-1] + len(held))

    def at(self, line: int, column: int) -> int:
        """Which character that is."""
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode(errors="ignore"))

    def span(self, node: Any) -> tuple[int, int]:
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)

    def of(self, node: Any) -> str:
        start, stop = self.span(node)
        return self.text[start:stop]


def _statement(tree: ast.Module, line: int) -> ast.stmt | None:
    """The innermost statement that a line belongs to."""
    held = [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and n.lineno <= line <= (n.end_lineno or n.lineno)]
    return max(held, key=lambda n: (n.lineno, n.col_offset), default=None)


def _head(statement: ast.stmt) -> Iterator[ast.AST]:
    """The syntax of a statement without the statements within it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [n for n in ast.iter_child_nodes(node) if not isinstance(n, ast.stmt)]


def _names(node: ast.AST) -> set[str]:
    """The names that code reads or makes."""
    made = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} | {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
    return made | {(a.asname or a.name).partition(".")[0] for n in ast.walk(node) if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names}


def _known(tree: ast.Module, line: int) -> set[str]:
    """The names that code at that line can know: those of its function, and of the module outside of all functions."""
    inside = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and n.lineno <= line <= (n.end_lineno or 0)]
    outside = [n for n in tree.body if not isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
    return set().union(*map(_names, outside), *map(_names, inside[-1:]))


def _reached(code: str, tree: ast.Module, line: int) -> str | None:
    """The code with names that are known at the line: as it is, or of `self`; None where there is no way to them."""
    known = _known(tree, line)
    unknown = _names(ast.parse(code)) - known
    own = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "self"}
    if unknown and not ("self" in known and unknown <= own):
        return None
    return re.sub(rf"(?<![\w.])({'|'.join(unknown)})\b", r"self.\1", code) if unknown else code


def _called(node: ast.AST) -> str:
    """`relu` of `nn.functional.relu(x)`."""
    function = node.func if isinstance(node, ast.Call) else None
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


def _the_call(statement: ast.stmt, function: str) -> ast.Call | None:
    """The one call of that name."""
    found = [n for n in _head(statement) if isinstance(n, ast.Call) and _called(n) == function]
    return found[0] if len(found) == 1 else None


def _before(source: _Source, statement: ast.stmt, code: str) -> Change | None:
    """A line of its own before the statement."""
    start = source.at(statement.lineno, statement.col_offset)
    indent = source.text[source.at(statement.lineno, 0) : start]
    return None if indent.strip() else (start, start, f"{code}\n{indent}")


def _after(source: _Source, statement: ast.stmt, code: str) -> Change | None:
    """A line of its own after the statement."""
    first, stop = source.at(statement.lineno, 0), source.span(statement)[1]
    indent, end = source.text[first : source.at(statement.lineno, statement.col_offset)], source.text.find("\n", stop)
    end = end if end >= 0 else len(source.text)
    rest = source.text[stop:end].strip()
    return None if indent.strip() or rest and not rest.startswith("#") else (end, end, f"\n{indent}{code}")


def _around(source: _Source, statement: ast.stmt, first: str, last: str) -> Change | None:
    """A line of its own before the statement, and one after it."""
    before, after = _before(source, statement, first), _after(source, statement, last)
    if before is None or after is None or isinstance(statement, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
        return None
    return before[0], after[1], before[2] + source.text[before[0] : after[0]] + after[2]


def _replace(source: _Source, statement: ast.stmt, old: str, new: str) -> Change | None:
    """One piece of the statement for another."""
    start, stop = source.span(statement)
    edge = r"(?<!\w)" if re.match(r"\w", old) else ""
    found = [m.start() for m in re.finditer(edge + re.escape(old), source.text[start:stop])]
    return (start + found[0], start + found[0] + len(old), new) if len(found) == 1 else None


def _without(source: _Source, statement: ast.stmt, name: str) -> Change | None:
    """A list, or the arguments of a call, without the text `name` or the call of that name."""
    found = []
    for node in _head(statement):
        elements = node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else node.args if isinstance(node, ast.Call) else []
        wanted = [i for i, e in enumerate(elements) if (isinstance(e, ast.Constant) and e.value == name) or _called(e) == name]
        found += [(elements, i) for i in wanted if len(elements) > 1]
    if len(found) != 1:
        return None
    elements, i = found[0]
    if i + 1 < len(elements):
        return source.span(elements[i])[0], source.span(elements[i + 1])[0], ""
    return source.span(elements[i - 1])[1], source.span(elements[i])[1], ""


def _keyword(source: _Source, statement: ast.stmt, function: str, name: str, value: str, position: int = 99) -> Change | None:
    """An argument of a call set; `position` is where it may stand without its name."""
    call = _the_call(statement, function)
    if call is None or any(k.arg is None for k in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    held = next((k.value for k in call.keywords if k.arg == name), call.args[position] if len(call.args) > position else None)
    if position < 0:  # it may stand last, as a number
        held = next((k.value for k in call.keywords if k.arg == name), call.args[-1] if call.args and _number(call.args[-1]) else None)
    if held is not None:
        return *source.span(held), value
    start, stop = source.span(call)
    body = source.text[start : stop - 1].rstrip()
    comma = "" if body.endswith("(") else " " if body.endswith(",") else ", "
    return start + len(body), start + len(body), f"{comma}{name}={value}"


def _number(node: ast.expr) -> bool:
    """Is it a number as written?"""
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _unwrap(source: _Source, statement: ast.stmt, function: str) -> Change | None:
    """What a call was given, in place of the call."""
    call = _the_call(statement, function)
    if call is None or not isinstance(call.func, (ast.Attribute, ast.Name)):
        return None
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    given = call.args[0] if call.args and not _number(call.args[0]) else owner
    return (*source.span(call), source.of(given)) if given is not None else None


def _wrap(source: _Source, statement: ast.stmt, function: str, form: str) -> Change | None:
    """What a call is given, put into `form`: `torch.sqrt(x)` or `x.sqrt()` with "{} + 1e-8"."""
    call = _the_call(statement, function)
    if call is None or len(call.args) > 1:
        return None
    inner = call.args[0] if call.args else call.func.value if isinstance(call.func, ast.Attribute) else None
    if inner is None:
        return None
    text, alone = source.of(inner), isinstance(inner, (ast.Name, ast.Call, ast.Attribute, ast.Subscript))
    made = form.format(text if alone or not form.startswith("{}.") else f"({text})")
    start, stop = source.span(inner)
    outer = not call.args and source.text[start - 1 : start] == "(" and source.text[stop : stop + 1] == ")"  # it stands in brackets of its own
    return start, stop, made if call.args or outer else f"({made})"


def _exchange(source: _Source, statement: ast.stmt, function: str) -> Change | None:
    """The first two arguments of a call the other way round."""
    call = _the_call(statement, function)
    if call is None or len(call.args) < 2:
        return None
    (start, mid), (then, stop) = source.span(call.args[0]), source.span(call.args[1])
    return start, stop, source.text[then:stop] + source.text[mid:then] + source.text[start:mid]


def _assign(source: _Source, statement: ast.stmt) -> Change | None:
    """What a method returns, kept under the name that it was called on; `inplace=True` left out."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not _plain(call.func.value):
        return None
    owner, method = source.of(call.func.value), call.func.attr
    given = [source.of(a) for a in call.args] + [
        f"{k.arg}={source.of(k.value)}" if k.arg else f"**{source.of(k.value)}" for k in call.keywords if k.arg != "inplace"
    ]
    return *source.span(statement), f"{owner} = {owner}.{method}({', '.join(given)})"


def _plain(node: ast.expr) -> bool:
    """A name, an attribute of one, or a column of one: what can be assigned to and is no copy."""
    inner = node.value if isinstance(node, (ast.Attribute, ast.Subscript)) else node
    return isinstance(inner, ast.Name) and (not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Constant))


KINDS: dict[str, Callable[..., Change | None]] = {
    "before": _before, "after": _after, "around": _around, "replace": _replace, "without": _without, "keyword": _keyword, "wrap": _wrap, "unwrap": _unwrap,
    "exchange": _exchange, "assign": _assign,
}  # fmt: skip
