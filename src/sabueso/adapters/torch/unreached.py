"""Unreached: a module that was switched to evaluation, of which nothing below it heard: its own train() does not hand the mode on, or only its flag was set."""

from __future__ import annotations

import ast
import dis
import os
import sys
from types import CodeType
from typing import Any

from torch import nn

from ...capture.operands import parsed
from ...capture.origin import is_users

HANDS_ON = frozenset({"train", "eval", "children", "modules", "apply", "named_children", "named_modules"})


def unreached(root: Any, switched: dict[str, Any]) -> dict[str, Any] | None:
    """The path of a module in eval mode that has all below it still in training mode, what switched it, and the line that set its flag."""
    if root.training or switched.get("last") is False:  # nn.Module's own train() goes down to every part
        return next((told for path, m in root.named_modules() if path and (told := by_own_method(path, m))), None)
    told = by_own_method("", root)
    if told is None and alone(root) and not overriding(root):
        return {"path": "", "method": None, "class": type(root).__name__, "line": assigned()}
    return told


def by_own_method(path: str, module: Any) -> dict[str, Any] | None:
    """A module whose class has a train() or eval() of its own that never asks anything below it to switch."""
    code = overriding(module) if alone(module) else None
    if code is None or HANDS_ON & set(code.co_names):
        return None
    return {"path": path, "method": code.co_name, "class": type(module).__name__, "line": [os.path.abspath(code.co_filename), setting(code)]}


def alone(module: Any) -> bool:
    """Is it in eval mode while every module below it is in training mode?"""
    if module.training:
        return False
    below = [m for m in module.modules() if m is not module]
    return bool(below) and all(m.training for m in below)


def overriding(module: Any) -> CodeType | None:
    """The code of a train() or eval() that the person wrote for this class of modules."""
    for cls in type(module).__mro__:
        if cls is nn.Module:
            break
        for name in ("train", "eval"):
            code = getattr(cls.__dict__.get(name), "__code__", None)
            if code is not None and is_users(code.co_filename):
                found: CodeType = code
                return found
    return None


def setting(code: CodeType) -> int:
    """The line of a method that sets `training`; its first where none does."""
    line = code.co_firstlineno
    for step in dis.get_instructions(code):
        line = step.starts_line or line
        if step.opname == "STORE_ATTR" and step.argval == "training":
            return line
    return code.co_firstlineno


def assigned() -> list[Any] | None:
    """The one line of the person's files that sets a `training` flag by hand; None where there are several or none."""
    found = set()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and is_users(file):
            for node in ast.walk(parsed(file) or ast.Module(body=[], type_ignores=[])):
                if isinstance(node, ast.Assign) and getattr(node.targets[0], "attr", "") == "training":
                    found.add((os.path.abspath(file), node.lineno))
    return list(found.pop()) if len(found) == 1 else None
