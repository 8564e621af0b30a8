"""Exported: small integers that torch.save writes."""

from __future__ import annotations

from typing import Any

import torch

from ...capture import wrapped
from .watch import Watch

PART = "exported"


def install(watch: Watch) -> None:
    """Look at what is about to be stored."""

    def saves(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if args:
            wrapped.look(watch.recorder, args[0])

    if watch.recorder.wants("integers_wrapped"):
        watch.around(PART, torch, "save", saves)
