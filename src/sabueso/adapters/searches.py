"""Searches over settings (grid, random, halving): what they compared and what each candidate did on the folds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture.around import Patches
from ..capture.origin import user_line
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("sklearn.model_selection",)
PROVIDES = ("search",)
MOST = 500  # candidates


def searched(recorder: Recorder) -> Callable[..., None]:
    """After a search formatted its results."""

    def after(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        search = args[0]
        if not isinstance(result, dict) or "mean_test_score" not in result:
            return
        here = user_line()
        sites = [s for s in recorder.shared.get("metric_sites", {}).values() if s.via != "call" and (s.file, s.line) == here]
        site = max(sites, key=lambda s: s.calls, default=None)
        means = [float(v) for v in result["mean_test_score"]][:MOST]
        folds = sum(k.startswith("split") and k.endswith("_test_score") for k in result)
        value = {"search": type(search).__name__, "scoring": _short(search.scoring), "metric": site.metric if site else None,
                  "folds": folds,
                 "scores": means, "candidates": [{k: _short(v) for k, v in p.items()} for p in result["params"][:MOST]]}  # fmt: skip
        if site is not None and site.calls == folds * len(means):
            value["confusions"] = [site.pooled(i * folds, (i + 1) * folds) for i in range(len(means))]
        recorder.fact("search", value, stage="evaluate", estimator=type(search).__name__)

    return after


def _short(v: Any) -> Any:
    return v if isinstance(v, (int, float, str, bool, type(None))) else getattr(v, "__name__", None) or str(v)[:60]


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook the searches."""
    patches = Patches()
    found = sys.modules.get("sklearn.model_selection._search")
    if recorder.wants("search") and hasattr(found, "BaseSearchCV"):
        patches.around(found.BaseSearchCV, "_format_results", None, guarded("searches", recorder)(searched(recorder)))
    return patches.undo
