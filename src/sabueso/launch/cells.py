"""Cells of a notebook: which cell a file name of the kernel stands for, kept in the run folder so that places can name the cell."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from ..places import Place

FILE = "cells.json"
Cells = dict[str, dict[str, Any]]  # the kernel's file name -> {"name": "nb.ipynb#cell3", "source": ".."}


def keep_cells(folder: Path, cells: Cells) -> None:
    """Write them into the run folder, if there are any; a folder that can't be written costs the cells' names only."""
    if cells:
        try:
            (folder / FILE).write_text(json.dumps(cells))
        except OSError:
            pass


def read_cells(folder: Path) -> Cells:
    """The cells that a run kept."""
    try:
        held = json.loads((folder / FILE).read_text())
        return {str(k): {"name": str(v["name"]), "source": str(v["source"])} for k, v in held.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def in_cell(place: Place, cells: Cells) -> Place:
    """The place with the kernel's file name told as the notebook's cell."""
    cell = cells.get(place.file or "")
    return place.but(file=cell["name"]) if cell else place


def cells_of_shell() -> Cells:
    """The cells that were run in the notebook this process is the kernel of; none in any other process."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "compile"):
        return {}
    cells: Cells = {}
    for number, source in enumerate(shell.user_ns.get("In", [])):
        try:
            file = shell.compile.get_code_name(source, source, number)
        except Exception:  # another shell than ipykernel's
            continue
        if source:
            cells[os.path.abspath(file)] = {"name": f"notebook#cell{number}", "source": source}
    return cells
