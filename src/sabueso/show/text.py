"""The report in a terminal: the trail, then the culprit with its line, its numbers and the remedy, then the rest; the next command last."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO

from ..diagnoses import Diagnosis
from ..findings import Finding
from . import phrases
from .columns import cut, wide
from .source import diff, excerpt

CRASH_LINES = 25  # after a traceback no more than this, so that the traceback stays in sight
LABEL = 11
BEFORE = 24  # characters of a long line that are left before what is changed in it
STYLES = {"bad": "1;31", "warn": "1;33", "good": "32", "dim": "2", "bold": "1", "fix": "36"}
STATES = {phrases.ORIGIN: "bad", phrases.SYMPTOM: "warn", phrases.WARNED: "warn", phrases.OK: "good"}


@dataclass(frozen=True)
class Paper:
    """What is written on: its width, whether it takes colour, and whether it can show more than ASCII."""

    width: int = 80
    colour: bool = False
    unicode: bool = True

    def style(self, name: str, text: str) -> str:
        return f"\x1b[{STYLES[name]}m{text}\x1b[0m" if self.colour and name and text.strip() else text

    def plain(self, text: str) -> str:
        """Without what this paper can't show."""
        if self.unicode:
            return text
        for fancy, simple in (("─", "-"), ("│", "|"), ("▶", ">"), ("›", ">"), ("…", "..."), ("·", ";")):
            text = text.replace(fancy, simple)
        return text.encode("ascii", "backslashreplace").decode()


def paper(out: TextIO) -> Paper:
    """The paper that a stream is: colour only on a terminal, and NO_COLOR honoured."""
    terminal = bool(getattr(out, "isatty", lambda: False)())
    columns = shutil.get_terminal_size((80, 24)).columns if terminal or "COLUMNS" in os.environ else 80
    if terminal and "COLUMNS" not in os.environ:
        try:
            columns = os.get_terminal_size(out.fileno()).columns or columns
        except (OSError, ValueError):
            pass
    colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Paper(max(50, min(columns, 120)), colour, "utf" in (getattr(out, "encoding", None) or "utf-8").lower())


def tell(diagnosis: Diagnosis, out: TextIO, everything: bool = False) -> None:
    """Print the report; a stream that is gone is no error."""
    try:
        out.write(render(diagnosis, paper(out), everything))
        out.flush()
    except (OSError, ValueError):
        pass


def render(diagnosis: Diagnosis, on: Paper, everything: bool = False) -> str:
    """The whole report."""
    if not diagnosis.culprits:
        lines = list(_quiet(diagnosis, on, everything))
    else:
        lines = list(_report(diagnosis, on, everything, around=2, most=5))
        if diagnosis.run.get("crash") and not everything and len(lines) > CRASH_LINES:
            lines = list(_report(diagnosis, on, everything, around=1, most=3, brief=True))
            lines = lines[: CRASH_LINES - 1] + lines[-1:] if len(lines) > CRASH_LINES else lines
    return on.plain("\n".join(lines) + "\n")


# ---- a run without a culprit


def _quiet(diagnosis: Diagnosis, on: Paper, everything: bool) -> Iterator[str]:
    run = diagnosis.run
    if run.get("tables"):
        yield f"sabueso: checked {phrases.tables(run)}"
        yield from _verdict(diagnosis, on, everything)
        return
    watched = ", ".join(s for s, state in phrases.trail(diagnosis) if state != phrases.NOT_WATCHED and state != phrases.NOT_REACHED)
    cost = f", {run['overhead']:.1%} of it ours" if run.get("overhead") is not None else ""
    seconds = f" in {run['seconds']:.1f} s{cost}" if run.get("seconds") is not None else ""
    yield f"sabueso: watched {watched or 'no stage of a pipeline'}{seconds}"
    yield from _verdict(diagnosis, on, everything)


def _verdict(diagnosis: Diagnosis, on: Paper, everything: bool) -> Iterator[str]:
    run = diagnosis.run
    ended, asked = phrases.ending(run), f"{len(diagnosis.clean)} check{'s' if len(diagnosis.clean) != 1 else ''}"
    verdict = f"{'no cause' if ended else 'nothing'} found by {asked}" if diagnosis.clean else "no check had anything to look at"
    blind = f", {len(diagnosis.blind)} could not see" if diagnosis.blind else ""
    hint = " (`sabueso show --all` says which)" if diagnosis.blind and not everything else ""
    yield from _wrapped("sabueso:", f"{ended + '; ' if ended else ''}{verdict}{blind}{hint}", on, "warn" if ended else "good", indent=9)
    yield from _notes(diagnosis, on, everything)
    yield from _own_errors(diagnosis, on, everything)
    if everything:
        yield from _blind(diagnosis, on, everything)


# ---- a run with one


def _report(diagnosis: Diagnosis, on: Paper, everything: bool, around: int, most: int, brief: bool = False) -> Iterator[str]:
    first, *rivals = diagnosis.culprits
    yield on.style("dim", "─" * on.width)
    if diagnosis.run.get("tables"):
        yield from _wrapped("checked", phrases.tables(diagnosis.run), on)
    else:
        yield from _trail(diagnosis, on)
    yield from _culprit(first, diagnosis, on, around, most, brief)
    for rival in rivals:
        yield from _rival(rival, diagnosis, on, everything, brief)
    yield from _notes(diagnosis, on, everything)
    yield from _blind(diagnosis, on, everything)
    yield from _own_errors(diagnosis, on, everything)
    ended = phrases.ending(diagnosis.run)
    if ended and not diagnosis.run.get("crash"):
        yield from _wrapped("ended", ended, on)
    yield on.style("dim", "next".ljust(LABEL)) + on.style("bold", f"sabueso explain {first.check}")


def _trail(diagnosis: Diagnosis, on: Paper) -> Iterator[str]:
    """The six stages on one line, or on two where the paper is narrow; neighbours of one state are told together."""
    cells = [(", ".join(stages), state) for stages, state in phrases.grouped(phrases.trail(diagnosis))]
    line, room = "", on.width - 2
    for n, (stages, state) in enumerate(cells):
        text, arrow = f"{stages} {state}", " › " if n else ""
        if room < len(text) + len(arrow) and n:
            yield line + " ›"
            line, room, arrow = "  ", on.width - 4, ""
        line += arrow + on.style(STATES.get(state, "dim"), text)
        room -= len(text) + len(arrow)
    yield line


def _culprit(finding: Finding, diagnosis: Diagnosis, on: Paper, around: int, most: int, brief: bool) -> Iterator[str]:
    code = excerpt(finding.place, diagnosis.run, around)
    gap = [] if brief else [""]
    yield from gap
    yield _head("CULPRIT", finding, on)
    spots = phrases.where(finding.place)
    if spots:
        yield from _wrapped("where", " · ".join(spots), on)
    yield from _wrapped("", finding.says, on, indent=0, limit=3 if brief else 0)
    yield from gap
    for n, text in code:
        mark = n == finding.place.line
        row = cut(f"{'  ▶' if mark else '   '}{n:>5} │ {text}", on.width)
        yield on.style("bold", row) if mark else on.style("dim", row)
    yield from gap if code else []
    yield from _numbers(finding, on, most)
    yield from gap if finding.evidence else []
    if finding.remedy:
        yield from _wrapped("fix", finding.remedy, on, "fix", limit=3 if brief else 0)
        changed = _in_sight(diff(finding, diagnosis.run), on.width - 13)
        for sign, text in changed if not brief or len(changed) < 3 else []:
            yield on.style({"-": "bad", "+": "fix"}.get(sign, "dim"), cut(f"{'':11}{sign} {text}", on.width))
    yield from _wrapped(*phrases.proof(finding), on)
    explained = diagnosis.explained(finding)
    if explained:
        said = dict.fromkeys(f"{f.check} ({', '.join(p for p in (phrases.line(f.place) or f.stage, *phrases.where(f.place)[-1:]) if p)})" for f in explained)
        yield from _wrapped("explains", " · ".join(list(said)[: 3 if brief else 8]), on)


def _in_sight(changed: list[tuple[str, str]], room: int) -> list[tuple[str, str]]:
    """Lines that are too long begin shortly before what is changed in them."""
    same = len(os.path.commonprefix([t for sign, t in changed if sign != " "]))
    start = max(0, same - BEFORE) if {s for s, _ in changed} == {"-", "+"} and max(wide(t) for _, t in changed) > room else 0
    return [(sign, "…" + text[start:]) for sign, text in changed] if start else changed


def _head(word: str, finding: Finding, on: Paper) -> str:
    spot = phrases.line(finding.place)
    left = f"{word} {finding.check}" + ("" if finding.severity == "error" else f" ({finding.severity})")
    room = on.width - wide(left) - wide(spot)
    colour = "bad" if finding.severity == "error" else "warn"
    if not spot:
        return on.style(colour, left)
    return on.style(colour, left) + " " * max(2, room) + on.style("bold", spot)


def _numbers(finding: Finding, on: Paper, most: int) -> Iterator[str]:
    """What, value, expected in columns; a cell that is too long runs on below itself."""
    rows = [("", "seen", "expected"), *((str(w), phrases.number(v), phrases.number(e)) for w, v, e in finding.evidence[:most])]
    if len(rows) == 1:
        return
    sizes = _shares([max(wide(r[c]) for r in rows) for c in range(3)], on.width - 2 - 4)
    for number, row in enumerate(rows):
        cells = [textwrap.wrap(text, size, break_long_words=True) or [""] for text, size in zip(row, sizes)]
        for part in range(max(len(c) for c in cells)):
            pieces = [c[part] if part < len(c) else "" for c in cells]
            text = "  ".join(p + " " * (s - wide(p)) for p, s in zip(pieces, sizes)).rstrip()
            yield on.style("dim", "  " + text) if number == 0 else "  " + text


def _shares(wanted: list[int], room: int) -> list[int]:
    """The widths of three columns: as wanted, or the numbers cut to a share first, and what is left over given back."""
    sizes = [wanted[0], min(wanted[1], room // 4), min(wanted[2], room // 3)]
    sizes[0] = min(wanted[0], room - sizes[1] - sizes[2])
    for column in (2, 1):
        sizes[column] = min(wanted[column], sizes[column] + room - sum(sizes))
    return sizes


def _rival(finding: Finding, diagnosis: Diagnosis, on: Paper, everything: bool, brief: bool) -> Iterator[str]:
    """Less of a second and third answer."""
    if not brief:
        yield ""
    yield _head("or" if finding.severity == "error" else "also", finding, on)
    spots = phrases.where(finding.place)
    if spots:
        yield from _wrapped("where", " · ".join(spots), on)
    yield from _wrapped("", finding.says, on, indent=2, limit=2 if brief else 0)
    if everything:
        yield from _numbers(finding, on, 5)
    if finding.remedy and not brief:
        yield from _wrapped("fix", finding.remedy, on, "fix")


# ---- the small print


def _notes(diagnosis: Diagnosis, on: Paper, everything: bool) -> Iterator[str]:
    notes = [f for f in diagnosis.findings if f.severity == "note" and f.explained_by is None]
    for f in notes if everything else notes[:2]:
        yield from _wrapped("note", f"{f.check}{' ' + spot if (spot := phrases.line(f.place)) else ''}: {f.says}", on, limit=0 if everything else 2)
    if len(notes) > 2 and not everything:
        yield from _wrapped("note", f"{len(notes) - 2} more: `sabueso show --all`", on)


def _blind(diagnosis: Diagnosis, on: Paper, everything: bool) -> Iterator[str]:
    if everything:
        for b in diagnosis.blind:
            yield from _wrapped("blind", f"{b.check}: no {', '.join(b.missing)}; {b.cure}", on)
    elif diagnosis.blind:
        names = phrases.listing([b.check for b in diagnosis.blind][:3])
        cures = list(dict.fromkeys(b.cure for b in diagnosis.blind))
        more = f" and {len(diagnosis.blind) - 3} more" if len(diagnosis.blind) > 3 else ""
        yield from _wrapped("blind", f"{names}{more} could not see ({cures[0]})", on, limit=2)


def _own_errors(diagnosis: Diagnosis, on: Paper, everything: bool) -> Iterator[str]:
    errors = diagnosis.own_errors
    if not errors:
        return
    which = phrases.listing(list(dict.fromkeys(str(e.get("adapter")) for e in errors)))
    yield from _wrapped("own errors", f"{len(errors)} of sabueso's own, in {which}; your program was not touched by them", on, limit=2)
    if everything:
        for e in errors:
            yield from _wrapped("", f"{e.get('adapter')}: {e.get('error')}", on, indent=LABEL)


def _wrapped(label: str, text: str, on: Paper, style: str = "", indent: int = LABEL, limit: int = 0) -> Iterator[str]:
    """A labelled paragraph; its further lines stand under its first. The remedy's own lines are kept."""
    lines = [piece for part in str(text).splitlines() or [""] for piece in _fold(part, on.width - indent)]
    if limit and len(lines) > limit:
        lines = [*lines[: limit - 1], cut(lines[limit - 1], on.width - indent - 2) + " …"]
    for n, piece in enumerate(lines):
        yield on.style("dim", (label if n == 0 else "").ljust(indent)) + on.style(style, piece)


def _fold(text: str, width: int) -> list[str]:
    """Wrapped, with the indentation of code kept on its further lines."""
    lead = text[: len(text) - len(text.lstrip())]
    return textwrap.wrap(text, width, subsequent_indent=lead, break_long_words=False, break_on_hyphens=False, replace_whitespace=False) or [""]
