"""Who calls: the person's own code, or a library within itself?"""

from __future__ import annotations

import sys
from types import FrameType

from .origin import OWN, is_users

WRAPPERS = ("sklearn/utils/_set_output.py", "sklearn/utils/_available_if.py")


def caller() -> FrameType | None:
    """The frame that made the hooked call: the nearest one that is none of ours, nor scikit-learn's wrapper of a transformer's output."""
    f: FrameType | None = sys._getframe(1)
    while f is not None and (f.f_code.co_filename.startswith(OWN) or f.f_code.co_filename.endswith(WRAPPERS)):
        f = f.f_back
    return f


def direct() -> bool:
    """Is the hooked call made by the person's own code?"""
    f = caller()
    return f is not None and is_users(f.f_code.co_filename)
