"""Settings of torch that decide how numbers come out: default dtype, threads, determinism, precision; told once, at the first step."""

from __future__ import annotations

from typing import Any

import torch

from .watch import Watch

PART = "settings"


def settings() -> dict[str, Any]:
    """As they are now."""
    return {
        "default_dtype": str(torch.get_default_dtype()).removeprefix("torch."), "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(), "precision": torch.get_float32_matmul_precision(),
        "version": str(torch.__version__), "device": torch.cuda.get_device_name() if torch.cuda.is_initialized() else "cpu",
    }  # fmt: skip


def install(watch: Watch) -> None:
    """At the first step."""
    if watch.recorder.wants("torch_settings"):
        watch.at_next("after_step", PART, lambda _: watch.recorder.fact("torch_settings", settings(), file="", line=None))
