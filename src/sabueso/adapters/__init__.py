"""Wakes an adapter when the person's program imports the library that it is named for.

An adapter is one module (or a folder of one name) of this package with
  LIBRARIES: tuple[str, ...]   the modules whose import wakes it, once they have run
  PROVIDES: tuple[str, ...]    the evidence names that it records
  install(recorder) -> Callable[[], None]   puts the hooks in, and returns their undo
Adding a file is enough: the list below is made from the folder. Only the head of each file is imported before its library is.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable

from ..capture.recorder import Recorder

# file name = first library that wakes it; a file for a library under another name says so here
# one library may wake several files, in the order of their names
WAKES = {
    "beside": ("torch",),
    "tensorboard": ("torch.utils.tensorboard.writer", "tensorboardX.writer"),
    "mlflow": ("mlflow.tracking.client",),
    "torch": ("torch",),
    "sklearn": ("sklearn.base",),
    "sklearn_calls": ("sklearn.base",),
    "futures": ("concurrent.futures",),
    "seeding": ("sklearn.model_selection._split",),
    "metrics": ("sklearn.metrics",),
    "lightgbm_calls": ("lightgbm",),
    "lightning_log": ("lightning.pytorch.core.module", "pytorch_lightning.core.module"),
    "factorized": ("pandas",),
    "reductions": ("numpy",),
    "searches": ("sklearn.model_selection",),
    "fastapi": ("fastapi.routing",),
    "starlette": ("starlette.routing",),
    "http_server": ("http.server",),
    "xgboost_calls": ("xgboost",),
    "xgboost_rows": ("xgboost",),
    "lightgbm_rows": ("lightgbm",),
    "keras_flow": ("keras.src.backend.torch.trainer", "keras.src.backend.tensorflow.trainer", "keras.src.backend.jax.trainer"),
    "keras_rows": ("keras.src.backend.torch.trainer", "keras.src.backend.tensorflow.trainer", "keras.src.backend.jax.trainer"),
    "splits": ("sklearn.model_selection._split",),
    "folds": ("sklearn.model_selection._validation",),
    "resampling": ("sklearn.utils._indexing",),
    "datasets": ("sklearn.datasets",),
    "decaying": ("sklearn.neural_network._multilayer_perceptron",),
    "transformers": ("transformers.training_args",),
}


def names() -> list[str]:
    """The adapters in this folder, sorted."""
    found = {e.name.removesuffix(".py") for e in os.scandir(os.path.dirname(__file__)) if e.name.endswith(".py") or e.is_dir()}
    return sorted(n for n in found if not n.startswith("_"))


class Waker:
    """Installs adapters as their libraries are imported; `undo` takes all of them out again."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._undo: dict[str, Callable[[], None]] = {}
        self._waits: dict[str, list[str]] = {}
        for name in names():
            for library in WAKES.get(name, (name,)):
                self._waits.setdefault(library, []).append(name)

    def start(self) -> None:
        """Watch for imports; what is imported already is woken now."""
        sys.meta_path.insert(0, self)  # type: ignore[arg-type]
        for library in [x for x in self._waits if x in sys.modules and not _half_imported(x)]:
            self.wake(library)

    def undo(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)  # type: ignore[arg-type]
        for undo in reversed(list(self._undo.values())):
            undo()
        self._undo.clear()

    def wake(self, library: str) -> None:
        """Install the adapters of a library; a failing one is kept as our own error and stays asleep."""
        for name in self._waits.pop(library, ()):
            if name in self._undo:
                continue
            try:
                if self.recorder.once("library", name):
                    self.recorder.fact("library", {"name": name, "version": _version(library), "library": library})
                module = importlib.import_module(f"{__name__}.{name}")
                self._undo[name] = module.install(self.recorder)
            except Exception as error:
                self.recorder.own_error(name, error)

    # ---- the import system's side

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """Find the module as everybody would, and wake its adapter once it has run."""
        if fullname not in self._waits:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)  # type: ignore[arg-type]
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    _after(spec.loader, lambda: self.wake(fullname))
                return spec
        return None


def _version(library: str) -> str:
    """Of the module, or of the package that it is in."""
    held = [sys.modules.get(library), sys.modules.get(library.partition(".")[0])]
    return next((str(m.__version__) for m in held if hasattr(m, "__version__")), "")


def _after(loader: object, call: Callable[[], None]) -> None:
    """Run `call` once the loader has executed its module; the loader itself stays the one that everybody knows."""
    run = loader.exec_module  # type: ignore[attr-defined]

    def exec_module(module: object) -> None:
        del loader.exec_module  # type: ignore[attr-defined]
        run(module)
        call()

    loader.exec_module = exec_module  # type: ignore[attr-defined]


def _half_imported(name: str) -> bool:
    spec = getattr(sys.modules[name], "__spec__", None)
    return bool(getattr(spec, "_initializing", False))
