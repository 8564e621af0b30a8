"""Numbering: classes numbered in one order and stored, or numbered again, in another."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Any

from .origin import names_in, user_frame

LEAST, MOST = 2, 300  # classes


def lists_in(value: Any, where: str = "", deep: int = 3) -> Iterator[tuple[str, list[str]]]:
    """Lists of different names within a stored object, with their place in it."""
    if isinstance(value, dict) and deep:
        for k, v in list(value.items())[:60]:
            yield from lists_in(v, f"{where}.{k}" if where else str(k), deep - 1)
    elif isinstance(value, (list, tuple)) and LEAST <= len(value) <= MOST and all(isinstance(v, str) for v in value) and len(set(value)) == len(value):
        yield where, list(value)


def numberings(frame: FrameType | None) -> Iterator[tuple[str, dict[str, int]]]:
    """Dictionaries among the person's variables that number names 0, 1, 2, .."""
    seen: set[int] = set()
    for _ in range(4):
        if frame is None:
            return
        for space in (names_in(frame), frame.f_globals):
            for name, x in list(space.items()):
                if type(x) is dict and LEAST <= len(x) <= MOST and id(x) not in seen:
                    seen.add(id(x))
                    if all(isinstance(k, str) and type(v) is int for k, v in x.items()) and sorted(x.values()) == list(range(len(x))):
                        yield name, x
        frame = user_frame(frame.f_back) if frame.f_back is not None else None


def renumbered(value: Any) -> dict[str, Any] | None:
    """A list of names that is stored in another order than the dictionary at hand numbers them by; None if all is well or the dictionary
    is stored too."""
    listed = list(lists_in(value))
    if not listed:
        return None
    for name, numbers in numberings(user_frame()):
        by_number = sorted(numbers, key=lambda k: numbers[k])
        for where, stored in listed:
            if set(stored) == set(numbers) and stored != by_number and not any(s == by_number for _, s in listed) and not _within(value, numbers):
                return {"name": name, "where": where, "numbered": by_number[:20], "stored": stored[:20],
                        "moved": sum(a != b for a, b in zip(stored, by_number)), "classes": len(stored)}  # fmt: skip
    return None


def _within(value: Any, numbers: dict[str, int], deep: int = 3) -> bool:
    """Does a stored object hold the numbering itself?"""
    if isinstance(value, dict):
        return value == numbers or deep > 0 and any(_within(v, numbers, deep - 1) for v in list(value.values())[:60])
    return isinstance(value, (list, tuple)) and deep > 0 and any(_within(v, numbers, deep - 1) for v in value[:60])
