"""Stage: the six parts of a pipeline, their order, and the override by the person."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

STAGES = ("ingest", "preprocess", "train", "evaluate", "deploy", "monitor")
ACROSS = ("environment", "resources", "reproducibility", "distributed")  # faults that belong to no single stage

_override: list[str] = []


def rank_of(stage: str | None) -> int:
    """Position along the pipeline; what belongs to no single stage comes first, since it can cause anything."""
    return STAGES.index(stage) if stage in STAGES else -1


def current(inferred: str | None) -> str | None:
    """The stage that the person named with `sabueso.stage`, else the inferred one."""
    return _override[-1] if _override else inferred


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Say which stage the enclosed code is, where inference would be wrong.

    Raises ValueError if `name` is not one of ingest, preprocess, train, evaluate, deploy, monitor.
    """
    if name not in STAGES:
        raise ValueError(f"no stage named {name!r}: use one of {', '.join(STAGES)}")
    _override.append(name)
    try:
        yield
    finally:
        _override.pop()
