"""In a program that runs a second time: the one thing that is to be changed, put in with the adapters."""

from __future__ import annotations

import sys

from ..adapters import Waker
from ..capture.recorder import Recorder
from ..replay.change import Change


class Changing(Waker):
    """Wakes adapters as ever, and then changes what they watch."""

    def __init__(self, recorder: Recorder, change: Change) -> None:
        super().__init__(recorder)
        self.change = change
        change.at_end = recorder.at_exit
        for library in change.libraries:
            self._waits.setdefault(library, [])  # no adapter need wait for it
        change.start()

    def wake(self, library: str) -> None:
        """The adapters of a library first: they see the program's own calls."""
        super().wake(library)
        call = self.change.libraries.get(library)
        if call is not None:
            try:
                call(sys.modules[library])
            except Exception as error:  # then the change met nothing, and the verdict says so
                self.recorder.own_error("change", error)
