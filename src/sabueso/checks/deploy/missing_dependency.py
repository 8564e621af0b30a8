"""missing-dependency."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact
from ...findings import Finding

LACKS = re.compile(r"No module named '([^']+)'|Can't get attribute '([^']+)' on <module '([^']+)'")


@check(stage="deploy", severity="error")
def missing_dependency(process_failed: list[Fact] = None, crash: list[Fact] = None, stored: list[Fact] = None) -> Iterator[Finding]:
    """What a program or a stored model needs is not there where it runs.

    What it means
    -------------
    A module is imported, or a pickled object refers to a class in a module, that has not come along to the place where it is used.

    Why it is bad
    -------------
    It works beside its sources and fails where it is deployed.

    Evidence
    --------
    The module that the failed process (or this one) could not find, and the stored object whose classes live in it.

    Remedy
    ------
    Put the module into the package (or its name into the requirements) beside the stored object.

    Fault
    -----
        import subprocess
        import sys
        run = subprocess.run([sys.executable, "-c", "import tidal_tables"], capture_output=True, text=True)  # sabueso: missing-dependency
        print(run.returncode)

    Control
    -------
        import subprocess
        import sys
        run = subprocess.run([sys.executable, "-c", "import json"], capture_output=True, text=True)
        print(run.returncode)

    References
    ----------
    Python documentation, pickle: what can be pickled (classes are stored by name).
    """
    for fact in process_failed or []:
        if fact.get("missing"):
            yield _finding(fact, fact["missing"], f"the process that is started here ends with status {fact['status']}", stored or [])
    for fact in crash or []:
        found = LACKS.search(str(fact.get("message", "")))
        if found and fact.get("type") in ("ModuleNotFoundError", "ImportError", "AttributeError"):
            yield _finding(fact, found[1] or found[3], f"the program ends with {fact['type']}", stored or [])


def _finding(fact: Fact, module: str, what: str, stored: list[Fact]) -> Finding:
    holders = [(s, o) for s in stored for o in s["own"] if o["module"].partition(".")[0] == module.partition(".")[0]]
    because, evidence = "", [("module not found", module, "importable where it runs"), ("how it ended", what, "status 0")]
    remedy = f"ship {module} beside the program, or add it to its requirements"
    if holders:
        s, own = holders[0]
        name = s["path"].replace("\\", "/").rpartition("/")[2]
        because = f": {name} refers to {own['class']} in {own['file'].replace(chr(92), '/').rpartition('/')[2]}"
        evidence.append((f"class that {name} refers to", f"{own['module']}.{own['class']}", None))
        remedy = f"pack {own['file'].replace(chr(92), '/').rpartition('/')[2]} together with {name}"
    return Finding(
        says=f"{what}, for want of the module {module}{because}",
        place=fact.place.but(module=module, stage="deploy"), evidence=evidence, remedy=remedy, confidence=0.97, verified="fact",
    )  # fmt: skip
