"""The report in a notebook: below the cell instead of in the red of stderr."""

from __future__ import annotations

import html
import sys

from ..diagnoses import Diagnosis
from .text import Paper, render, tell


def in_notebook() -> bool:
    """Is this process the kernel of a notebook?"""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "ipykernel" in sys.modules and type(shell).__name__ == "ZMQInteractiveShell"


def tell_in_place(diagnosis: Diagnosis) -> None:
    """Show the report where this process shows things: below the cell, or on stderr."""
    if not in_notebook():
        tell(diagnosis, sys.stderr)
        return
    text = render(diagnosis, Paper(100))
    data = {"text/plain": text, "text/html": f"<pre>{html.escape(text)}</pre>"}
    sys.modules["IPython"].display.display(data, raw=True)
