"""Layers: the torch modules that a call went through, by the frames of a traceback, and the lines that built them."""

from __future__ import annotations

import ast
import linecache
import os
from collections.abc import Iterator
from types import FrameType
from typing import Any

from .operands import MISSING, describe, is_module, is_tensor, parsed
from .origin import is_users
from .provenance import Stops, made

DECLARED = (
    "in_features", "out_features", "in_channels", "out_channels", "input_size", "hidden_size", "num_layers", "batch_first", "num_features",
    "num_embeddings", "embedding_dim", "normalized_shape", "embed_dim", "groups", "kernel_size", "stride", "padding",
)  # fmt: skip


def chain(stops: Stops) -> list[tuple[Any, FrameType]]:
    """(module, frame of its own code) from the outermost call to the innermost."""
    found: list[tuple[Any, FrameType]] = []
    for frame in stops:
        module = frame.f_locals.get("self", MISSING)
        if is_module(module) and frame.f_globals.get("__name__") != "torch.nn.modules.module":  # not what calls its forward
            found.append((module, frame))
    return found


def path_of(root: Any, module: Any) -> str | None:
    """The dotted path of a module under a root: '' for the root itself, None if it isn't there."""
    return next((path for path, m in walk(root) if m is module), None)


def walk(root: Any, prefix: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, Any]]:
    """(path, module) of a tree of modules, without running code of theirs."""
    seen = set() if seen is None else seen
    if id(root) in seen:
        return
    seen.add(id(root))
    yield prefix, root
    for name, child in (vars(root).get("_modules") or {}).items():
        if child is not None:
            yield from walk(child, f"{prefix}.{name}" if prefix else name, seen)


def failing(stops: Stops) -> dict[str, Any] | None:
    """The innermost layer of the traceback: path, class, declared sizes, its inputs, the line that built it and the line that called it."""
    modules = chain(stops)
    if not modules:
        return None
    layer = modules[-1][0]
    frame = next(f for m, f in modules if m is layer)  # its forward, not the checks that it calls
    root = modules[0][0]
    path = path_of(root, layer) or ""
    variable = name_of(root, stops)
    told: dict[str, Any] = {"path": path or variable or type(layer).__name__, "class": type(layer).__name__, "root": variable}
    told["library"] = not is_users(frame.f_code.co_filename)
    told["declared"] = {k: vars(layer)[k] for k in DECLARED if k in vars(layer)}
    told["training"] = bool(vars(layer).get("training"))
    told["inputs"] = inputs(frame)
    place = built(layer, root, path, stops)
    if place is not None:
        told["made"] = place
    told["before"] = before(root, path)
    return told


def inputs(frame: FrameType) -> list[dict[str, Any]]:
    """The tensors that a forward was given, in the order of its parameters."""
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    given = [(n, frame.f_locals.get(n)) for n in names if n != "self"]
    return [describe(n, v) for n, v in given if is_tensor(v)][:4]


def before(root: Any, path: str) -> dict[str, Any] | None:
    """The layer with channels or features that stands before one of that path in the order of definition."""
    last = None
    for name, module in walk(root):
        if name == path and path:
            break
        size = vars(module).get("out_channels", vars(module).get("out_features"))
        if isinstance(size, int):
            last = {"path": name, "class": type(module).__name__, "out": size}
    return last


def name_of(value: Any, stops: Stops) -> str | None:
    """The variable of the person's frames that holds a value, innermost frame first."""
    for frame in reversed(list(stops)):
        if is_users(frame.f_code.co_filename):
            for scope in (frame.f_locals, frame.f_globals):
                for name, held in list(scope.items()):
                    if held is value and name != "self":
                        return name
    return None


def built(layer: Any, root: Any, path: str, stops: Stops) -> dict[str, Any] | None:
    """The line that built a layer: the call in its parent's class, or in the expression that its root variable was made of."""
    parents = dict(walk(root))
    parts = path.split(".") if path else []
    for cut in range(len(parts) - 1, -1, -1):  # the nearest parent whose class is the person's own text
        parent = parents.get(".".join(parts[:cut]))
        code = getattr(vars(type(parent)).get("forward") or vars(type(parent)).get("__init__"), "__code__", None) if parent is not None else None
        if code is not None and is_users(code.co_filename):
            return _in_class(type(parent), code.co_filename, parts[cut:])
    for frame in reversed(list(stops)):
        name = name_of(root, {frame: stops[frame]})
        if name is not None:
            steps = made(frame, ast.Name(name, ast.Load()), stops)
            if steps and steps[0].source is not None:
                return _call(steps[0].file, steps[0].source, parts)
    return None


def _in_class(kind: type, file: str, parts: list[str]) -> dict[str, Any] | None:
    tree = parsed(file)
    scope = next((n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == kind.__name__), None) if tree is not None else None
    for node in ast.walk(scope) if scope is not None else ():
        if isinstance(node, ast.Assign) and any(ast.unparse(t) == f"self.{parts[0]}" for t in node.targets):
            return _call(file, node.value, parts[1:])
    return None


def _call(file: str, node: ast.expr, parts: list[str]) -> dict[str, Any]:
    """Follow the numbers of a path through nested Sequential(...) or ModuleList([...]) calls to the call that built the layer."""
    for part in parts:
        inner = node.args if isinstance(node, ast.Call) else node.elts if isinstance(node, (ast.List, ast.Tuple)) else []
        if len(inner) == 1 and isinstance(inner[0], (ast.List, ast.Tuple)):
            inner = inner[0].elts
        if not part.isdigit() or int(part) >= len(inner) or any(isinstance(a, ast.Starred) for a in inner[: int(part) + 1]):
            break
        node = inner[int(part)]
    text = linecache.getline(file, node.lineno).strip()
    return {"file": os.path.abspath(file), "line": node.lineno, "text": text, "call": ast.unparse(node)}
