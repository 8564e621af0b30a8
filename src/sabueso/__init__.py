"""sabueso: a debugger for AI pipelines. It runs your script unchanged and names the culprit.

`import sabueso` loads no framework; names are looked up when they are first used.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"
__all__ = ["Diagnosis", "Finding", "Run", "breakpoint_on", "check", "check_data", "enforce", "examine", "open", "stage", "watch"]

_WHERE = {
    "Diagnosis": "diagnoses", "Finding": "findings", "Run": "runs", "breakpoint_on": "launch.child", "check": "catalogue", "check_data": "data.checking",
    "enforce": "data.holding", "examine": "wiring", "open": "wiring", "stage": "stages", "watch": "wiring",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'sabueso' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_WHERE[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
