"""Recorder: the only object that adapters talk to. It knows which evidence is wanted and where the program is."""

from __future__ import annotations

import functools
import os
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar

from .. import stages
from ..places import NOWHERE, Place
from ..store.layout import DEFINE, FACT, OWN_ERROR, POINTS, PROFILE
from ..store.log import Log, block, encode
from .origin import user_line

try:
    from .._native import Guard
except ImportError:
    Guard = None  # type: ignore[assignment, misc]

F = TypeVar("F", bound=Callable[..., Any])
MOST_OWN_ERRORS = 20
MOST_LOGS = 100  # of one process number


class Recorder:
    """Records facts, points of series and profiles of one process into its log.

    Adapters set `step`, `epoch`, `stage` and `rank` as they learn them; every piece of evidence gets those that its place leaves open.
    A failing disk or a failing adapter turns recording off and never reaches the person's program.
    """

    def __init__(self, folder: str | os.PathLike[str], wanted: frozenset[str] | None = None, budget: float = 0.01) -> None:
        self.folder, self.wanted, self.budget = Path(folder), wanted, budget
        self.stage: str | None = None
        self.step: int | None = None
        self.epoch: int | None = None
        self.rank: int | None = int(os.environ["RANK"]) if os.environ.get("RANK", "").isdigit() else None
        self.off: set[str] = set()  # adapters that failed and are silent now
        self.failed = False
        self.busy = threading.local()
        self.shared: dict[str, Any] = {}  # what several adapters know together, by name
        self._lock = threading.RLock()
        self._series: dict[tuple[str, Place], int] = {}
        self._errors = 0
        self._forks = 0
        self._seen: set[Any] = set()
        self._last: list[Callable[[], None]] = []
        self.at_crash: list[Callable[[BaseException, dict[str, Any]], dict[str, Any] | None]] = []  # what else an adapter knows of an exception
        self._log: Log | None = None
        self._pid = os.getpid()
        self._open()

    # ---- what adapters call

    def wants(self, *names: str) -> bool:
        """Does an enabled check name any of these?"""
        return not self.failed and (self.wanted is None or any(n in self.wanted for n in names))

    def once(self, *key: Any) -> bool:
        """True the first time that a key is met: for facts that need saying once."""
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def fact(self, name: str, value: dict[str, Any], place: Place | None = None, **parts: Any) -> None:
        """Record that something happened or is so. Without a file in its place the person's line is looked up."""
        if self.wants(name):
            known = self.here(place, **parts)
            self._entered(known)
            self._put(FACT, encode({"n": name, "v": value, "p": known.as_dict()}))

    def profile(self, name: str, value: dict[str, Any], place: Place | None = None, **parts: Any) -> None:
        """Record a summary of a column or tensor (`Profile.as_dict()`)."""
        if self.wants(name):
            known = self.here(place, **parts)
            self._entered(known)
            self._put(PROFILE, encode({"n": name, "v": value, "p": known.as_dict()}))

    def series(self, name: str, place: Place = NOWHERE) -> int | None:
        """The number under which points of a series are put; None if nobody wants it."""
        if not self.wants(name):
            return None
        number = self._series.get((name, place))
        if number is None:
            number = self._series[name, place] = len(self._series)
            self._put(DEFINE, encode({"s": number, "n": name, "p": place.as_dict()}))
        return number

    def points(self, step: int, pairs: list[tuple[int, float]]) -> None:
        """One block for a step: (series number, value) pairs."""
        if not pairs or self.failed:
            return
        try:
            with self._lock:
                done = self._log is not None and self._log.put_points(step, pairs)
        except Exception:  # as in _put
            self.failed = True
            return
        if not done:
            self._put(POINTS, block(step, pairs))

    def point(self, name: str, value: float, step: int, place: Place = NOWHERE) -> None:
        """One number of a series that is seldom written; in a hot loop use `series` and `points`."""
        number = self.series(name, place)
        if number is not None:
            self.points(step, [(number, float(value))])

    def here(self, place: Place | None = None, **parts: Any) -> Place:
        """The present place: stage, step, epoch, rank, and the person's line unless the place has one."""
        known = (place or NOWHERE).but(**parts) if parts else (place or NOWHERE)
        file, line = (known.file, known.line) if known.file else user_line()
        stage = stages.current(known.stage or self.stage)
        return known.filled(Place(stage=stage, step=self.step, epoch=self.epoch, rank=self.rank)).but(file=file, line=line, stage=stage)

    def _entered(self, place: Place) -> None:
        """Say once that a stage was met, with the place of the first evidence of it."""
        if place.stage is not None and self.once("stage", place.stage):
            self._put(FACT, encode({"n": "stage_seen", "v": {"stage": place.stage}, "p": place.as_dict()}))

    def own_error(self, adapter: str, error: BaseException, turn_off: bool = True) -> None:
        """Keep an error of ours in the run and silence the adapter that it came from."""
        if turn_off:
            self.off.add(adapter)
        self._errors += 1
        if self._errors <= MOST_OWN_ERRORS:
            text = "".join(traceback.format_exception(error))[-4000:]
            self._put(OWN_ERROR, encode({"adapter": adapter, "error": f"{type(error).__name__}: {error}", "traceback": text}))

    def at_exit(self, call: Callable[[], None] | None = None) -> None:
        """With a call: have it run when the program ends, before the log is closed; without: the program ends now."""
        if call is not None:
            self._last.append(call)
            return
        while self._last:
            try:
                with calm():
                    self._last.pop(0)()
            except Exception as error:
                self.own_error("exit", error)
        self._end()

    def forked(self) -> None:
        """In a forked child: write to a log of its own, and leave the parent's last words to the parent."""
        self._lock = threading.RLock()
        self._pid, self._forks, self._series, self._last = os.getpid(), self._forks + 1, {}, []
        self._log = None  # made with the first that it has to say: many forked workers say nothing

    # ---- the log

    def _put(self, kind: int, payload: bytes) -> None:
        if self.failed:
            return
        try:
            with self._lock:
                if os.getpid() != self._pid:
                    self.forked()
                if self._log is None:
                    self._open()
                if self._log is not None:
                    self._log.put(kind, payload)
        except Exception:  # a full disk, a closed map at interpreter exit: the person's program goes on
            self.failed = True

    def _end(self) -> None:
        self.failed = True
        with self._lock, suppress(Exception):
            if self._log is not None and os.getpid() == self._pid:
                self._log.close()

    def _open(self) -> None:
        for number in range(MOST_LOGS):  # a process that replaces its program (os.execv) keeps its number and has a log already
            try:
                self._log = Log(self.folder / f"{os.getpid()}-{number}.log")
                return
            except FileExistsError:
                continue
            except OSError:
                break
        self.failed = True


def calm() -> AbstractContextManager[Any]:
    """Arithmetic of ours neither warns nor raises, whatever the person's `np.seterr` says."""
    errstate = getattr(sys.modules.get("numpy"), "errstate", None)
    return errstate(all="ignore") if errstate is not None else nullcontext()


def guarded(adapter: str, recorder: Recorder, arithmetic: bool = True) -> Callable[[F], F]:
    """A hook of ours: silent when its adapter is off or when it is called from within us, and never failing.

    `arithmetic=False` is for hooks in every step that use no NumPy: keeping its warnings down costs more than they do.
    """
    off, busy = recorder.off, recorder.busy

    def wrap(hook: F) -> F:
        if Guard is not None and not arithmetic:
            return Guard(hook, recorder, adapter, off, busy)  # type: ignore[return-value]

        @functools.wraps(hook)
        def safe(*args: Any, **kwargs: Any) -> Any:
            if recorder.failed or adapter in off or getattr(busy, "on", False):
                return None
            busy.on = True
            try:
                if not arithmetic:
                    return hook(*args, **kwargs)
                with calm():
                    return hook(*args, **kwargs)
            except Exception as error:
                recorder.own_error(adapter, error)
                return None
            finally:
                busy.on = False

        return safe  # type: ignore[return-value]

    return wrap
