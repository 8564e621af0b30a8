"""Every evidence name is said once, asked for by a check or the report, and provided by an adapter or the recorder."""

from __future__ import annotations

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


# recorded without any library: by the launcher, the recorder, the sampler and the wakers
OWN = {
    "imported",
    "broken_rules",
    "resident_memory",
    "processors_used",
    "program_end",
    "rows_shared",
    "table_seen",
    "tables_apart",
    "crash",
    "hot_lines",
    "library",
    "memory_held",
    "not_captured",
    "overhead",
    "stage_seen",
    "stalled",
}


def provided(adapter: str) -> set[str]:
    """The names that an adapter says it records, read from its source: its library need not be there."""
    head = (ROOT / "adapters" / f"{adapter}.py", ROOT / "adapters" / adapter / "__init__.py")
    text = next(p.read_text() for p in head if p.exists())
    said = re.search(r"^PROVIDES[^=]*= (\([^)]*\))", text, re.M)
    assert said, f"{adapter} does not say what it records"
    return set(re.findall(r'"(\w+)"', said.group(1)))


@pytest.mark.parametrize("adapter", names())
def test_adapters_provide_names_of_the_vocabulary(adapter: str) -> None:
    assert provided(adapter) <= VOCABULARY.keys()


def test_every_name_is_provided() -> None:
    assert not sorted(VOCABULARY.keys() - OWN - {n for a in names() for n in provided(a)})
