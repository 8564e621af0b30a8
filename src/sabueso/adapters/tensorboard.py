"""TensorBoard's writers (torch's and tensorboardX): scalars and histograms that the person logs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture import logs
from ..capture.around import Patches
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("torch.utils.tensorboard.writer", "tensorboardX.writer")
PROVIDES = ("logged", "logged_histogram")


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook add_scalar, add_scalars and add_histogram."""
    patches, guard, held = Patches(), guarded("tensorboard", recorder), logs.of(recorder)

    def scalar(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        held.scalar(*given(args, kwargs, "tag", "scalar_value", "global_step"), folder(args))

    def scalars(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        main, values, step = given(args, kwargs, "main_tag", "tag_scalar_dict", "global_step")
        for tag, value in dict(values).items():
            held.scalar(f"{main}/{tag}", value, step, folder(args))

    def histogram(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        held.histogram(*given(args, kwargs, "tag", "values", "global_step"))

    for library in LIBRARIES:
        writer = getattr(sys.modules.get(library), "SummaryWriter", None)
        if writer is not None:
            for name, hook in (("add_scalar", scalar), ("add_scalars", scalars), ("add_histogram", histogram)):
                patches.around(writer, name, None, guard(hook))
    return patches.undo


def folder(args: tuple[Any, ...]) -> str | None:
    """Where a writer writes: each folder is a run of its own."""
    where = getattr(args[0], "log_dir", None) or getattr(args[0], "logdir", None) if args else None
    return str(where) if where else None


def given(args: tuple[Any, ...], kwargs: dict[str, Any], *names: str) -> list[Any]:
    """The first arguments of a method, by position or name; None for those that were left out."""
    return [args[n] if len(args) > n else kwargs.get(name) for n, name in enumerate(names, 1)]
