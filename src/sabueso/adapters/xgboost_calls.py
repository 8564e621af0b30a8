"""XGBoost's own training interface: the rows behind a DMatrix that is trained on or predicted."""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from ..capture import fits
from ..capture.around import Patches
from ..capture.calling import direct
from ..capture.flow import Flow
from ..capture.recorder import Recorder, guarded
from ..capture.storing import Stored, name_of

LIBRARIES = ("xgboost",)
PROVIDES = ("inputs", "stored")
MOST = 2000  # matrices whose data are known; of each only a sketch or a weak reference is kept
HELD = 4  # of the last ones (training, validation, test) the data are kept until a training begins: an array may be made for the DMatrix alone
MOST_BYTES = 64_000_000  # of such arrays together


class Matrices:
    """What each DMatrix was made of: the table by weak reference, a small one (a request's row) by copy."""

    def __init__(self) -> None:
        self.held: dict[int, tuple[Any, Any, Any]] = {}
        self.last: deque[Any] = deque(maxlen=HELD)

    def built(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A DMatrix was made: (self, data, label=..)."""
        data = args[1] if len(args) > 1 else kwargs.get("data")
        label = args[2] if len(args) > 2 else kwargs.get("label")
        if not direct() or data is None or not hasattr(data, "shape"):
            return
        if len(self.held) > MOST:
            self.held = {k: v for k, v in self.held.items() if v[0]() is not None}
        if (getattr(data, "nbytes", None) or MOST_BYTES) < MOST_BYTES:
            self.last.append(data)
            while sum(getattr(d, "nbytes", None) or 0 for d in self.last) > MOST_BYTES:
                self.last.popleft()
        kept = data.copy() if data.size <= 4096 else data  # an array that lives only in the DMatrix's own call
        self.held[id(args[0])] = (weakref.ref(args[0]), _ref(data, kept), label)

    def of(self, matrix: Any) -> tuple[Any, Any]:
        """(table, label) of a DMatrix, where they are still there."""
        known = self.held.get(id(matrix))
        return (known[1](), known[2]) if known is not None and known[0]() is matrix else (None, None)


def _ref(data: Any, kept: Any) -> Callable[[], Any]:
    if kept is not data:
        return lambda: kept
    try:
        return weakref.ref(data)
    except TypeError:
        return lambda: None


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook DMatrix, `train` and `Booster.predict`."""
    patches, flow, guard, matrices = Patches(), Flow.of(recorder), guarded("xgboost_calls", recorder), Matrices()
    library = sys.modules["xgboost"]

    def trains(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        matrix = args[1] if len(args) > 1 else kwargs.get("dtrain")
        data, label = matrices.of(matrix) if direct() else (None, None)
        matrices.last.clear()
        if data is None:
            return None
        fits.tell(recorder, fits.Booster(), data, label)
        return flow.held(data, label)

    def trained(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if token is not None:
            params = args[0] if args else kwargs.get("params") or {}
            flow.adopt(result, token, classifier="binary" in str(params.get("objective", "")) or "multi" in str(params.get("objective", "")))

    def predicts(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        matrix = args[1] if len(args) > 1 else kwargs.get("data")
        if not direct():
            return None
        data = matrix if hasattr(matrix, "shape") else matrices.of(matrix)[0]
        return (flow.fed(args[0], "predict", data) if data is not None else None,)

    def predicted(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if token is not None:
            flow.answered(args[0], "predict_proba" if getattr(flow.model(args[0], False), "classifier", False) else "predict", result, token[0])

    if recorder.wants("inputs"):
        kept(recorder, library, patches)
        patches.around(library.DMatrix, "__init__", None, guard(matrices.built))
        patches.around(library, "train", guard(trains), guard(trained))
        patches.around(library.Booster, "predict", guard(predicts), guard(predicted))
        patches.around(library.Booster, "inplace_predict", guard(predicts), guard(predicted))
    return patches.undo


def kept(recorder: Recorder, library: Any, patches: Patches) -> None:
    """Hook what saves boosters and reads them again."""
    guard, stored = guarded("xgboost_calls", recorder), Stored.of(recorder)

    def path(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        return name_of(args[1] if len(args) > 1 else kwargs.get("fname"))

    def saved(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        stored.dumped(args[0], path(args, kwargs), path(args, kwargs))

    def read(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        stored.loaded(args[0], path(args, kwargs), path(args, kwargs))

    for owner in (library.Booster, getattr(library, "XGBModel", library.Booster)):
        patches.around(owner, "save_model", None, guard(saved))
        patches.around(owner, "load_model", None, guard(read))
