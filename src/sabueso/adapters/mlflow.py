"""MLflow's client, through which all of its logging goes: metrics and parameters that the person logs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture import logs
from ..capture.around import Patches
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("mlflow.tracking.client",)
PROVIDES = ("logged", "logged_parameter")


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook log_metric, log_param and log_batch."""
    patches, guard, held = Patches(), guarded("mlflow", recorder), logs.of(recorder)

    def metric(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        run, key, value, _, step = given(args, kwargs, "run_id", "key", "value", "timestamp", "step")
        held.scalar(key, value, step or None, run)  # a step that was left out arrives as 0

    def parameter(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        held.setting(*given(args, kwargs, "run_id", "key", "value")[1:])

    def batch(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        run, metrics, params = given(args, kwargs, "run_id", "metrics", "params")
        for one in metrics or ():
            held.scalar(one.key, one.value, one.step or None, run)
        for one in params or ():
            held.setting(one.key, one.value)

    client = getattr(sys.modules["mlflow.tracking.client"], "MlflowClient", None)
    if client is not None:
        for name, hook in (("log_metric", metric), ("log_param", parameter), ("log_batch", batch)):
            patches.around(client, name, None, guard(hook))
    return patches.undo


def given(args: tuple[Any, ...], kwargs: dict[str, Any], *names: str) -> list[Any]:
    """The arguments of a method behind self, by position or name."""
    return [args[n] if len(args) > n else kwargs.get(name) for n, name in enumerate(names, 1)]
