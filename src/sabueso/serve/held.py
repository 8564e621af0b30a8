"""Runs that somebody is looking at: each stays open, is read further as it grows, and is diagnosed anew at times that grow with the cost."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..diagnoses import Diagnosis
from ..errors import SabuesoError
from ..store.browse import Browser
from ..store.layout import LOGS

MOST_OPEN = 4
FIRST, TIMES = 2.0, 6.0  # seconds between two diagnoses of a run that goes on, and how many times what the last one took


class Held:
    """One run folder under observation. Every method may be called from any thread."""

    def __init__(self, folder: Path, diagnose: Callable[[Path], Diagnosis], kept: Callable[[Path], Diagnosis | None]) -> None:
        self.folder, self._diagnose, self._kept = folder, diagnose, kept
        self.browser = Browser(folder)
        self.version = 0
        self.diagnosis = Diagnosis(dict(self.browser.meta))
        self.settled = False  # was it diagnosed after its end?
        self._next, self._busy, self._lock = 0.0, False, threading.Lock()
        self._changes, self._changed = -1, time.monotonic()

    def look(self) -> int:
        """Read on; begin a diagnosis where one is due. The number that comes back grows with the evidence."""
        changes = self.browser.look()
        if changes != self._changes:
            self._changes, self._changed = changes, time.monotonic()
        with self._lock:
            due = not self.settled and not self._busy and (time.monotonic() >= self._next or "outcome" in self.browser.meta)
            self._busy = self._busy or due
        if due and self.ended:
            self._renew()
        elif due:
            threading.Thread(target=self._beside, name="sabueso-diagnose", daemon=True).start()
        return changes

    @property
    def ended(self) -> bool:
        return "outcome" in self.browser.meta or self.gone

    @property
    def gone(self) -> bool:
        """Does no process that wrote here live any more, though the run was never sealed?"""
        if "outcome" in self.browser.meta:
            return False
        pids = {int(p.name.split("-")[0]) for p in self.folder.glob(LOGS)}
        return bool(pids) and not any(alive(p) for p in pids)

    def age(self) -> str:
        """How fresh the evidence is, in words."""
        seconds = time.monotonic() - self._changed
        if "outcome" in self.browser.meta:
            return f"{self.browser.meta.get('seconds') or 0:.1f} s"
        if self.gone:
            return "its processes are gone, and nobody sealed it"
        return f"last evidence {seconds:.1f} s ago"

    def _beside(self) -> None:
        """What can't be read while it is written is read later."""
        with suppress(SabuesoError):
            self._renew()

    def _renew(self) -> None:
        began, final = time.monotonic(), "outcome" in self.browser.meta
        try:
            made = (self._kept(self.folder) if final else None) or self._diagnose(self.folder)
            if final or made.as_dict("") != self.diagnosis.as_dict(""):
                self.diagnosis, self.version = made, self.version + 1
            self.settled = final
        finally:
            self._next = time.monotonic() + max(FIRST, TIMES * (time.monotonic() - began))
            self._busy = False


def alive(pid: int) -> bool:
    """Does a process of that number run?"""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


class Shelf:
    """The runs that are held open, the latest asked for kept longest."""

    def __init__(self, diagnose: Callable[[Path], Diagnosis], kept: Callable[[Path], Diagnosis | None]) -> None:
        self._made: tuple[Any, Any] = (diagnose, kept)
        self._held: OrderedDict[Path, Held] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, folder: Path) -> Held:
        """The run in that folder. Raises StoreError."""
        with self._lock:
            if folder not in self._held:
                self._held[folder] = Held(folder, *self._made)
            self._held.move_to_end(folder)
            while len(self._held) > MOST_OPEN:
                self._held.popitem(last=False)
            return self._held[folder]
