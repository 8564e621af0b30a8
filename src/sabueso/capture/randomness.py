"""The three random streams of a program kept and put back exactly: Python's `random`, NumPy's global state and torch's default generator.

NumPy's and Python's Mersenne twisters are 2,500 bytes each; copying them raw takes under a microsecond where `get_state()` takes 90 and
`getstate()` 18. The layouts are proved on private generators first; where the proof fails, or the bit generator was swapped, the public
calls serve.
"""

from __future__ import annotations

import random
import struct
import sys
from typing import Any

try:
    from .._native import gather, peek, poke
except ImportError:
    gather = peek = poke = None  # type: ignore[assignment]

TWISTER = 2500  # 624 words and the position among them
LOOK = 24  # bytes of a twister that tell whether it was drawn from: a position moves, or all words are new
ENGINE = 2496  # bytes of the words in torch's generator on the CPU; its kept gaussians lie behind them


class Streams:
    """Made once a process; `snapshot()` before, `restore(kept)` after. Neither draws a number."""

    def __init__(self, raw: bool = True) -> None:
        self._python = _python_layout() if raw and peek is not None else None
        self._raw = raw and peek is not None
        self._numpy: tuple[Any, int, int] | None = None  # the global RandomState, where its twister lies, where its kept gaussian lies
        self._asked_numpy = False
        self._owners: tuple[Any, Any, Any] | None = None  # the generators of Python, NumPy and torch that the next belong to
        self._places: tuple[tuple[int, int], ...] = ()  # their positions, first words and kept gaussians: a draw changes one of these
        self._seen: Any = None
        self._kept: Any = None  # the states when that was seen

    def snapshot(self) -> tuple[Any, Any, Any]:
        """The states now, to be given to `restore`; those of the last time where nothing was drawn since."""
        owners = self._generators()
        if self._owners is None or owners[1] is not self._owners[1] or owners[2] is not self._owners[2] or owners[0] is not self._owners[0]:
            self._places, self._seen = self._where(owners), None
            self._owners = owners
        if not self._places:
            return self._keep_python(), self._keep_numpy(), self._keep_torch()
        seen = gather(self._places), owners[0].gauss_next
        if seen != self._seen:
            self._kept, self._seen = (self._keep_python(), self._keep_numpy(), self._keep_torch()), seen
        return self._kept

    @staticmethod
    def _generators() -> tuple[Any, Any, Any]:
        """Those that the module functions draw from, as far as they are there."""
        legacy, torch = sys.modules.get("numpy.random.mtrand"), sys.modules.get("torch")
        return random._inst, legacy._rand._bit_generator if hasattr(legacy, "_rand") else None, getattr(torch, "default_generator", None)

    def _where(self, owners: tuple[Any, Any, Any]) -> tuple[tuple[int, int], ...]:
        """What to look at; () where a layout is not proved."""
        self._keep_numpy()
        at = _torch_layout(sys.modules["torch"]) if self._raw and owners[2] is not None else None
        if self._python is None or type(owners[0]) is not random.Random or owners[2] is not None and at is None:
            return ()
        places = [(id(owners[0]) + self._python, LOOK)]
        if owners[1] is not None:
            if self._numpy is None or self._numpy[0] is not owners[1]:
                return ()
            places += [(self._numpy[1], LOOK), (self._numpy[1] + ENGINE, 4), (self._numpy[2], 16)]
        return (*places, *(_engine(owners[2]._cdata + at) if at is not None else ()))

    def restore(self, kept: tuple[Any, Any, Any]) -> None:
        """All streams go on as they would have from the snapshot."""
        python, array, tensor = kept
        if isinstance(python[0], bytes):
            poke(id(random._inst) + self._python, python[0])
            random._inst.gauss_next = python[1]
        else:
            random.setstate(python)
        if array is not None:
            if isinstance(array, tuple) and isinstance(array[0], bytes):
                _, twister, gauss = self._numpy  # type: ignore[misc]
                poke(twister, array[0])
                poke(gauss, array[1])
            else:
                sys.modules["numpy"].random.set_state(array)
        if tensor is not None:
            sys.modules["torch"].default_generator.set_state(tensor)

    def _keep_python(self) -> Any:
        if self._python is None or type(random._inst) is not random.Random:
            return random.getstate()
        at = id(random._inst) + self._python
        return peek(at, TWISTER), random._inst.gauss_next

    def _keep_numpy(self) -> Any:
        legacy = sys.modules.get("numpy.random.mtrand")
        if legacy is None or not hasattr(legacy, "_rand"):
            return None
        if not self._asked_numpy:
            self._asked_numpy = True
            self._numpy = _numpy_layout(legacy) if self._raw else None
        if self._numpy is None or self._numpy[0] is not legacy._rand._bit_generator:
            return sys.modules["numpy"].random.get_state(legacy=False)
        _, twister, gauss = self._numpy
        return peek(twister, TWISTER), peek(gauss, 16)

    @staticmethod
    def _keep_torch() -> Any:
        generator = getattr(sys.modules.get("torch"), "default_generator", None)
        return generator.get_state() if generator is not None else None


def _torch_layout(torch: Any) -> int | None:
    """How far into a generator on the CPU its words lie; None unless a private one shows them, moves with each draw and stays without one."""
    try:
        trial = torch.Generator()
        trial.manual_seed(7)
        words = [7]
        for i in range(1, 8):
            words.append((1812433253 * (words[-1] ^ words[-1] >> 30) + i) & 0xFFFFFFFF)
        at = peek(trial._cdata, 256).find(struct.pack("<8I", *words))
        if at < 20:
            return None
        places = _engine(trial._cdata + at)
        seen = [gather(places)]
        for _ in range(5):  # the second and fourth gaussian come from what is kept
            torch.randn((), generator=trial, dtype=torch.float64)
            seen.append(gather(places))
        still = seen[-1] == gather(places)
        return at if still and len(set(seen)) == len(seen) else None
    except Exception:
        return None


def _engine(words: int) -> tuple[tuple[int, int], ...]:
    """Where seed, position and first words of a generator lie, and the gaussians that it keeps: each twist changes all words."""
    return (words - 20, 52), (words + ENGINE, 28)


def _python_layout() -> int | None:
    """Where the position and the 624 words lie in a `random.Random`; None unless a private one proves it."""
    try:
        at = object.__basicsize__
        trial = random.Random(7)
        if random.Random.__mro__[1].__basicsize__ < at + TWISTER:
            return None
        before = peek(id(trial) + at, TWISTER)
        words = struct.unpack("<i624I", before)
        if (*words[1:], words[0]) != trial.getstate()[1]:
            return None
        drawn = [trial.random() for _ in range(700)]
        poke(id(trial) + at, before)
        return at if drawn == [trial.random() for _ in range(700)] else None
    except Exception:
        return None


def _numpy_layout(legacy: Any) -> tuple[Any, int, int] | None:
    """(the global bit generator, address of its twister, address of the kept gaussian); None unless a private RandomState proves both."""
    try:
        numpy = sys.modules["numpy"]
        if type(legacy._rand._bit_generator) is not numpy.random.MT19937 or type(legacy._rand) is not numpy.random.RandomState:
            return None
        trial = numpy.random.RandomState(7)
        offset = _gauss_offset(trial)
        if offset is None:
            return None
        twister = trial._bit_generator.ctypes.state_address
        before = peek(twister, TWISTER), peek(id(trial) + offset, 16)
        drawn = trial.standard_normal(701).tolist()
        poke(twister, before[0])
        poke(id(trial) + offset, before[1])
        if drawn != trial.standard_normal(701).tolist():
            return None
        rand = legacy._rand
        return rand._bit_generator, rand._bit_generator.ctypes.state_address, id(rand) + offset
    except Exception:
        return None


def _gauss_offset(trial: Any) -> int | None:
    """The one place in a RandomState where (has_gauss, gauss) turn from (1, value) to (0, ..) as the kept gaussian is used."""
    trial.standard_normal()
    has, value = trial.get_state(legacy=False)["has_gauss"], trial.get_state(legacy=False)["gauss"]
    size = type(trial).__basicsize__
    memory = peek(id(trial), size)
    places = [i for i in range(16, size - 15, 8) if memory[i : i + 4] == b"\x01\0\0\0" and memory[i + 8 : i + 16] == struct.pack("<d", value)]
    if has != 1 or len(places) != 1:
        return None
    trial.standard_normal()
    return places[0] if peek(id(trial) + places[0], 4) == b"\0\0\0\0" else None
