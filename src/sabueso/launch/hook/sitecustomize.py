"""The start-up hook: wakes capture in the watched program, then lets the sitecustomize that would have run do so.

It stands on the program's PYTHONPATH, so grandchildren (ranks, spawned workers) are covered too.
"""

import os
import sys


def _wake():
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p) != here]
    folder = os.environ.get("SABUESO_RUN")
    try:
        if folder and os.path.isdir(folder):
            sys.path.insert(0, root)
            try:
                from sabueso.launch import child
            finally:
                sys.path.remove(root)
            child.wake(folder, root)
    except BaseException as error:  # nothing of ours may keep the program from running
        if os.environ.get("SABUESO_DEBUG"):
            raise
        try:
            with open(os.path.join(folder or "", f"hook-{os.getpid()}.err"), "w") as f:
                f.write(repr(error))
        except OSError:
            pass


_wake()
del _wake
_ours = sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize  # noqa: F401  (the one that we stood before)
except ImportError:
    if _ours is not None:
        sys.modules["sitecustomize"] = _ours
