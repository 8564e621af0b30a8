"""The diagnosis folds consequences under causes, orders culprits, and says what it could not see."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sabueso.catalogue import Check, check
from sabueso.diagnose import diagnose
from sabueso.events import Fact
from sabueso.findings import Finding
from sabueso.places import Place
from sabueso.runs import Run


def make(name: str, stage: str = "train", leads_to: tuple[str, ...] = (), **parts: object) -> Check:
    """A check that finds its fault wherever there is a crash."""

    def fault(crash: list[Fact]) -> Iterator[Finding]:
        yield Finding(says=name, **{"confidence": 0.8, **parts})  # type: ignore[arg-type]

    fault.__name__ = name.replace("-", "_")
    return check(stage=stage, leads_to=leads_to)(fault)


CRASHED = Run(facts=[Fact("crash", {})])


def told(*checks: Check, run: Run = CRASHED) -> tuple[list[str], dict[str, str | None]]:
    d = diagnose(run, {c.name: c for c in checks})
    by_id = {f.id: f.check for f in d.findings}
    return [c.check for c in d.culprits], {f.check: by_id.get(f.explained_by or "") for f in d.findings}


def test_a_cause_folds_the_chain_behind_it() -> None:
    culprits, why = told(make("c"), make("b", leads_to=("c",)), make("a", stage="ingest", leads_to=("b",)))
    assert culprits == ["a"]
    assert why == {"a": None, "b": "a", "c": "a"}


def test_an_effect_before_its_cause_is_not_explained() -> None:
    late, early = make("late", leads_to=("early",), place=Place(step=9)), make("early", place=Place(step=2))
    assert set(told(late, early)[0]) == {"late", "early"}


def test_culprits_are_ordered_by_severity_then_confidence_and_hold_no_notes() -> None:
    checks = (
        make("weak", confidence=0.5),
        make("strong", confidence=0.9),
        make("small", severity="note"),
        make("warned", severity="warning"),
    )
    assert told(*checks)[0] == ["strong", "weak", "warned"]


def test_two_that_explain_each_other_leave_the_stronger() -> None:
    assert told(make("a", leads_to=("b",), confidence=0.6), make("b", leads_to=("a",), confidence=0.9))[0] == ["b"]


def test_of_equals_in_a_circle_one_is_told() -> None:
    assert told(make("a", leads_to=("b",)), make("b", leads_to=("a",)))[0] == ["a"]
    assert len(told(make("a", leads_to=("b",)), make("b", leads_to=("c",)), make("c", leads_to=("a",)))[0]) == 1


def test_at_most_three_and_one_a_check() -> None:
    assert len(told(*(make(n) for n in "abcde"))[0]) == 3


@pytest.mark.parametrize(("facts", "clean", "blind"), [
    ([], [], []),
    ([Fact("library", {"name": "torch"})], ["quiet"], []),
    ([Fact("library", {"name": "torch"}), Fact("not_captured", {"names": ["loss_call"], "why": "compiled"})], [], ["quiet"]),
])  # fmt: skip
def test_absent_evidence_is_clean_where_watched_blind_where_given_up(facts: list[Fact], clean: list[str], blind: list[str]) -> None:
    @check(stage="train")
    def quiet(loss_call: list[Fact]) -> Iterator[Finding]:
        yield from ()

    d = diagnose(Run(facts=facts), {"quiet": quiet})
    assert (d.clean, [b.check for b in d.blind]) == (clean, blind)


def test_a_failing_check_keeps_no_other_from_speaking() -> None:
    @check(stage="train")
    def broken(crash: list[Fact]) -> Iterator[Finding]:
        raise RuntimeError("ours")

    d = diagnose(CRASHED, {"broken": broken, "a": make("a")})
    assert [c.check for c in d.culprits] == ["a"] and "ours" in d.own_errors[0]["error"]


def test_a_check_can_only_ask_for_named_evidence() -> None:
    def fault(no_such_evidence: list[Fact]) -> Iterator[Finding]:
        yield from ()

    with pytest.raises(TypeError, match="no_such_evidence"):
        check(stage="train")(fault)
