"""The common test of every check: its Fault is named first at the marked line, its Control is silent for all checks."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
from programs import marked, told, watched

from sabueso import wiring
from sabueso.catalogue import SECTIONS, Check
from sabueso.checks import broken, catalogue
from sabueso.config import Config
from sabueso.show.json import safe

CHECKS = sorted(catalogue().values(), key=lambda c: c.name)
names = pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.name)
pytestmark = pytest.mark.filterwarnings("ignore")


def program(check: Check, section: str) -> str:
    return textwrap.dedent(check.sections[section]).strip("\n") + "\n"


def diagnosis_of(source: str, folder: Path) -> dict[str, Any]:
    """Of a program, or of a run that the snippet builds from events."""
    if "Run(" in source and "run =" in source:
        held: dict[str, Any] = {}
        exec(compile(source, "snippet", "exec"), held)
        said = wiring.conclude(held["run"], catalogue(), Config(), [])
        return safe(said.as_dict("test"))
    script = folder / "program.py"
    script.write_text(source)
    return watched(script)


def test_every_module_of_checks_loads() -> None:
    assert CHECKS and not broken, broken


@names
def test_page_has_its_sections(check: Check) -> None:
    wanted = [s for s in SECTIONS if s not in ("References", "Known limits")]
    assert [s for s in check.sections if s in wanted] == wanted
    assert check.sections[""], "a summary opens the page"
    assert all(check.sections[s].strip() for s in wanted)


@names
def test_fault_is_named_first(check: Check, tmp_path: Path) -> None:
    source = program(check, "Fault")
    for _ in range(3 if check.stage == "resources" else 1):  # what is told by looks 20 times a second can be missed on a busy machine
        diagnosis = diagnosis_of(source, tmp_path)
        if diagnosis["culprits"]:
            break
    assert diagnosis["culprits"] and diagnosis["culprits"][0]["check"] == check.name, told(diagnosis)
    line = marked(source, check.name)
    if line is not None and diagnosis["culprits"][0]["place"].get("file") == "program.py":
        assert diagnosis["culprits"][0]["place"].get("line") == line, told(diagnosis)
    assert not diagnosis["own_errors"], told(diagnosis)
    assert 2 <= len(diagnosis["culprits"][0]["evidence"]) <= 5, diagnosis["culprits"][0]["evidence"]
    assert diagnosis["culprits"][0]["remedy"] and diagnosis["culprits"][0]["says"]


@names
def test_control_is_silent(check: Check, tmp_path: Path) -> None:
    diagnosis = diagnosis_of(program(check, "Control"), tmp_path)
    assert not diagnosis["culprits"], told(diagnosis)
    assert not diagnosis["own_errors"], told(diagnosis)
