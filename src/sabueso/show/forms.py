"""Forms: one word of `--format` to the module that writes it."""

from __future__ import annotations

from typing import TextIO

from ..diagnoses import Diagnosis
from . import github, json, junit, markdown, sarif, text

FORMS = {"json": json.dumps, "markdown": markdown.render, "sarif": sarif.render, "github": github.render, "junit": junit.render}


def tell(diagnosis: Diagnosis, form: str, out: TextIO, everything: bool = False) -> None:
    """Write the diagnosis in that form."""
    if form == "text":
        text.tell(diagnosis, out, everything)
        return
    said = FORMS[form](diagnosis)
    if said:
        out.write(said.rstrip("\n") + "\n")
        out.flush()
