"""Every evidence name is said once, asked for by a check or the report, and provided by an adapter or the recorder."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import sabueso
from sabueso import wiring
from sabueso.adapters import names
from sabueso.checks import catalogue
from sabueso.vocabulary import VOCABULARY

ROOT = Path(sabueso.__file__).parent
SOURCE = "\n".join(p.read_text() for p in sorted(ROOT.rglob("*.py")) if p.name != "vocabulary.py")
NAMES = sorted(VOCABULARY)


@pytest.mark.parametrize("name", NAMES)
def test_term(name: str) -> None:
    term = VOCABULARY[name]
    assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
    assert term.kind in ("fact", "series", "profile", "trace")
    assert term.meaning and "\n" not in term.meaning and term.cure


def test_named_once() -> None:
    said = re.findall(r'^    "(\w+)": Term\(', (ROOT / "vocabulary.py").read_text(), re.M)
    assert sorted(said) == NAMES and len(said) == len(set(said))


def test_all_that_a_check_asks_for_is_recorded_by_somebody() -> None:
    asked = {n for c in catalogue().values() for n in c.needs}
    assert not [n for n in sorted(asked) if f'"{n}"' not in SOURCE and f"'{n}'" not in SOURCE]


def test_all_that_is_named_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Evidence that no check names is not captured; such a name is a leftover."""
    asked = {n for c in catalogue().values() for n in c.needs + c.uses} | wiring.ALWAYS
    idle = sorted(set(NAMES) - asked)
    with capsys.disabled():
        print(f"\nevidence that no check asks for: {', '.join(idle) or 'none'}")


def test_adapters_provide_names_of_the_vocabulary() -> None:
    for adapter in names():
        head = (ROOT / "adapters" / f"{adapter}.py", ROOT / "adapters" / adapter / "__init__.py")
        text = next(p.read_text() for p in head if p.exists())
        provides = re.search(r"^PROVIDES[^=]*= \(([^)]*)\)", text, re.M)
        if provides is None:
            module = importlib.import_module(f"sabueso.adapters.{adapter}")
            said = list(module.PROVIDES)
        else:
            said = re.findall(r'"(\w+)"', provides.group(1))
        assert not [n for n in said if n not in VOCABULARY], adapter
