"""What a model was given: adapters that see a fit say so here, and those that look at the content of tables listen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .recorder import Recorder

Listener = Callable[[Any, Any, Any], None]  # (estimator, X, y) as the person passed them


def listen(recorder: Recorder, call: Listener) -> Callable[[], None]:
    """Have `call(estimator, X, y)` run at every outermost fit, before it starts; returns the way out."""
    held: list[Listener] = recorder.shared.setdefault("fit_listeners", [])
    held.append(call)
    return lambda: held.remove(call) if call in held else None


class Booster:
    """Stands for a booster that a library's own training is about to make."""

    predict = None


def tell(recorder: Recorder, estimator: Any, x: Any, y: Any) -> None:
    """A fit is about to start. Call it from a guarded hook; a failing listener keeps the others from nothing."""
    for call in list(recorder.shared.get("fit_listeners", ())):
        try:
            call(estimator, x, y)
        except Exception as error:
            recorder.own_error("fits", error, turn_off=False)
