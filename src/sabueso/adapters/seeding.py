"""Seeds: which random streams were drawn from without a seed, and whether a split of the data came from one of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture.around import Patches
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("sklearn.model_selection._split",)
PROVIDES = ("split_drawn",)


def install(recorder: Recorder) -> Callable[[], None]:
    """Watch train_test_split; NumPy's global stream is compared with what it was when this woke."""
    patches = Patches()
    split = sys.modules.get("sklearn.model_selection._split")
    if split is None or not recorder.wants("split_drawn"):
        return patches.undo
    random = sys.modules["numpy"].random
    seeded: list[bool] = []

    @guarded("seeding", recorder)
    def seed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Somebody seeds the global stream, or makes a generator of his own with a seed."""
        if any(a is not None for a in (*args, *kwargs.values())):
            seeded.append(True)

    @guarded("seeding", recorder)
    def drawn(_: Any, parts: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if kwargs.get("shuffle", True) and recorder.once("split_drawn", len(args), str(kwargs.get("random_state"))):
            rows = [len(p) for p in parts[:2]] if hasattr(parts[0], "__len__") else []
            value = {"seeded": kwargs.get("random_state") is not None or bool(seeded), "rows": rows, "function": "train_test_split"}
            recorder.fact("split_drawn", value)

    for name in ("seed", "set_state", "default_rng", "RandomState"):
        patches.around(random, name, seed, None)
    for owner in (split, sys.modules.get("sklearn.model_selection")):
        if owner is not None:
            patches.around(owner, "train_test_split", None, drawn)
    return patches.undo
