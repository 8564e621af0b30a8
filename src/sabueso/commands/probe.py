"""`sabueso confirm`, the program once more in a copy of its folder with one thing changed, and `sabueso diff`, two runs side by side."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from .. import config, wiring
from ..checks import catalogue
from ..diagnoses import Diagnosis
from ..errors import SabuesoError, UsageError
from ..findings import Finding
from ..interventions import INTERVENTIONS, Intervention
from ..replay import confirm as judge
from ..replay.confirm import COULD_NOT, WENT, Verdict
from ..replay.diff import Comparison, compare
from ..runs import Run
from ..show import phrases
from ..show.json import safe
from ..show.phrases import number
from ..store.layout import find_run
from ..store.reader import open_run

MOST_BYTES = 2_000_000_000  # of a working directory that is copied
LEFT_OUT = (".sabueso", ".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".mypy_cache", ".pytest_cache")
PATIENCE = 5.0  # times the seconds of the first run, and a minute, before the second is given up
where = click.option("--dir", "dir_", metavar="DIR", help="Where runs lie (default .sabueso/runs, or $SABUESO_HOME/runs).")


@dataclass
class Rerun:
    """What a second run showed: its evidence and findings, and how often the change took effect."""

    evidence: Run
    findings: list[Finding]
    applied: int


@click.command()
@click.argument("name", required=False, metavar="[RUN]")
@where
@click.option("--finding", metavar="CHECK", help="The finding to try (default the first culprit).")
@click.option("--steps", type=click.IntRange(1), help="Stop after so many optimizer steps (then the program is first run so far unchanged).")
@click.option("--yes", is_flag=True, help="Do not ask before the program is run again.")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", help="The form of the verdict (default text).")
def confirm(name: str | None, dir_: str | None, finding: str | None, steps: int | None, yes: bool, form: str) -> None:
    """Try a finding's remedy: run the program again in a copy of its folder with that one thing changed.

    The verdict (went away, stayed, no difference, could not be tried) is written into the run.
    """
    settings = config.load()
    settings.dir = dir_ or settings.dir
    folder = find_run(settings.home(), name)
    diagnosis, wanted = told(folder, settings, finding)
    changes = [INTERVENTIONS[n] for n in catalogue()[wanted.check].interventions]
    if not changes:
        finish(folder, diagnosis, wanted, [Verdict(COULD_NOT, "none", f"no change from outside tries what {wanted.check} says")], form)
        return
    agreed(diagnosis.run, changes, steps, yes)
    finish(folder, diagnosis, wanted, tried(folder, diagnosis.run, wanted, changes, steps), form)


def told(folder: Path, settings: config.Config, wanted: str | None) -> tuple[Diagnosis, Finding]:
    """The diagnosis of a run and the finding to be tried. Raises UsageError where there is none."""
    diagnosis = wiring.kept(folder) or wiring.diagnose_run(folder, settings.chosen(catalogue()), settings)
    among = diagnosis.findings if wanted else diagnosis.culprits
    found = next((f for f in among if wanted in (None, f.check, f.id)), None)
    if found is None:
        has = ", ".join(dict.fromkeys(f.check for f in diagnosis.findings)) or "none"
        raise UsageError(f"{folder.name} has no {'finding ' + wanted if wanted else 'culprit'} to try (findings: {has})")
    return diagnosis, found


def agreed(run: dict[str, Any], changes: list[Intervention], steps: int | None, yes: bool) -> None:
    """Say what will be done, and ask. Raises UsageError where nobody can be asked."""
    command = shlex.join(str(w) for w in run.get("command") or ())
    often = f"up to {len(changes)} times" if len(changes) > 1 else "once"
    said = f"runs `{command}` again, {often}{f', for {steps} steps' if steps else ''}, in a copy of {run.get('cwd')}"
    more = "what it does outside of that folder (absolute paths, network, devices) it does again"
    click.echo(f"sabueso: {said}; {more}", err=True)
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("nobody can be asked here: give --yes to run the program again")
    click.confirm("Go on?", abort=True, err=True)


def tried(folder: Path, run: dict[str, Any], wanted: Finding, changes: list[Intervention], steps: int | None) -> list[Verdict]:
    """The interventions in turn, until the finding goes away."""
    was, verdicts = open_run(folder), []
    try:
        if steps:
            was = again(run, {"steps": steps}).evidence
        for change in changes:
            asked = {"name": change.name, "place": wanted.place.as_dict(), "steps": steps}
            now = again(run, asked)
            if change.name == "seeds set":
                verdicts.append(seeded(now, again(run, asked), wanted))
            else:
                verdicts.append(judge.judged(wanted, change, was, now.evidence, now.findings, now.applied))
            if verdicts[-1].word == WENT:
                break
    except (OSError, SabuesoError, subprocess.TimeoutExpired) as error:
        why = "it took too long" if isinstance(error, subprocess.TimeoutExpired) else str(error)
        verdicts.append(Verdict(COULD_NOT, changes[0].name, why))
    return verdicts


def seeded(one: Rerun, two: Rerun, wanted: Finding) -> Verdict:
    """Two runs with seeds: are they the same?"""
    same, gone = judge.same_twice(one.evidence, two.evidence), not any(f.check == wanted.check for f in one.findings)
    word = COULD_NOT if same is None else WENT if same and gone else judge.STAYED
    return Verdict(word, "seeds set", "losses and metrics of two runs are equal to the bit", False, same)


def again(run: dict[str, Any], asked: dict[str, Any]) -> Rerun:
    """The program in a copy of its folder, watched, with one thing changed. Raises OSError, UsageError or TimeoutExpired."""
    cwd = Path(run.get("cwd") or ".")
    with tempfile.TemporaryDirectory(prefix="sabueso-again-") as place:
        there, home, out = Path(place) / cwd.name, Path(place) / "runs", Path(place) / "diagnosis.json"
        copied(cwd, there)
        command = [str(w).replace(str(cwd), str(there)) if i and str(cwd) != "/" else str(w) for i, w in enumerate(run.get("command") or ())]
        env = {**os.environ, "SABUESO_CHANGE": json.dumps(asked), "SABUESO_HOME": ""}
        env.pop("SABUESO_HOME")
        watched = [sys.executable, "-m", "sabueso", "run", "--dir", str(home), "--json", str(out), "--format", "json", *command]
        seconds = PATIENCE * float(run.get("seconds") or 60) + 60
        quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(watched, cwd=there, env=env, timeout=seconds, **quiet)
        if not out.exists():
            raise UsageError("the program could not be run again")
        diagnosis = Diagnosis.of(json.loads(out.read_text()))
        folder = home / diagnosis.run["id"]
        applied = json.loads((folder / "applied.json").read_text())["applied"] if (folder / "applied.json").exists() else 0
        return Rerun(open_run(folder), diagnosis.findings, applied)


def copied(source: Path, target: Path) -> None:
    """The working directory without what is made or versioned. Raises UsageError where it is too large."""
    size = 0
    for base, folders, files in os.walk(source):
        folders[:] = [f for f in folders if f not in LEFT_OUT]
        for file in files:
            size += os.lstat(os.path.join(base, file)).st_size
            if size > MOST_BYTES:
                raise UsageError(f"{source} holds more than {MOST_BYTES / 1e9:g} GB, which is not copied: run in a folder of its own")
    shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))


def finish(folder: Path, diagnosis: Diagnosis, wanted: Finding, verdicts: list[Verdict], form: str) -> None:
    """Write the verdict into the run, and say it."""
    last = next((v for v in verdicts if v.word == WENT), verdicts[-1])
    if last.word == WENT:
        what = f", {last.what}" if last.what else ""
        wanted.verified = {"how": f"run again with {last.change}{what}", "before": last.before, "after": last.after, "verdict": last.word}
        wanted.confidence = max(wanted.confidence, 0.97)
    elif wanted.verified != "fact" and last.word != COULD_NOT:
        wanted.verified, wanted.confidence = None, round(0.5 * wanted.confidence, 3)
    wiring.keep(diagnosis, folder)
    data = {"format": 1, "run": folder.name, "finding": wanted.check, **last.as_dict(), "tried": [v.as_dict() for v in verdicts]}
    try:
        (folder / "confirm.json").write_text(json.dumps(data, default=str))
    except OSError as error:
        click.echo(f"sabueso: the verdict is not kept ({error.strerror or error})", err=True)
    click.echo(json.dumps(data, indent=1, default=str) if form == "json" else "\n".join(lines(wanted, verdicts)))


def lines(wanted: Finding, verdicts: list[Verdict]) -> list[str]:
    """One line a change."""
    said = [f"{wanted.check}: {wanted.says}"]
    for v in verdicts:
        numbers = (
            f": {v.what} {number(v.before)} before, {number(v.after)} after"
            if v.before is not None or v.after is not None
            else f" ({v.what})"
            if v.what
            else ""
        )
        said.append(f"  {v.change}: {v.word}{numbers}")
    return said


@click.command()
@click.argument("before", metavar="RUN_A")
@click.argument("after", metavar="RUN_B")
@where
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", help="The form of the comparison (default text).")
def diff(before: str, after: str, dir_: str | None, form: str) -> None:
    """Lay two runs side by side: the first value that differs by more than rounding, and what could explain it.

    RUN_A and RUN_B are names (or parts of them) as `sabueso runs` lists them, or paths of run folders. Ends with 1 where they diverge.
    """
    settings = config.load()
    settings.dir = dir_ or settings.dir
    folders = [find_run(settings.home(), n) for n in (before, after)]
    found = compared(folders[0], folders[1])
    click.echo(json.dumps(safe(found.as_dict()), indent=1, default=str) if form == "json" else "\n".join(told_apart(found, [f.name for f in folders])))
    sys.exit(1 if found.first is not None else 0)


def compared(before: Path, after: Path) -> Comparison:
    """Two run folders compared, with files told relative to where the programs ran."""
    one, two = open_run(before), open_run(after)
    found = compare(one, two, (sources(before), sources(after)))
    places = {"place": one.meta.get("cwd") or os.getcwd(), "other": two.meta.get("cwd") or os.getcwd()}
    for name in ("first", "form"):
        held = getattr(found, name)
        if held is not None:
            setattr(found, name, replace(held, **{k: wiring.relative(getattr(held, k), cwd) for k, cwd in places.items()}))
    return found


def sources(folder: Path) -> dict[str, str]:
    """The script as it ran."""
    try:
        return dict(json.loads((folder / "sources.json").read_text()))
    except (OSError, ValueError):
        return {}


def told_apart(found: Comparison, names: list[str]) -> list[str]:
    """The comparison as text."""
    said = [f"{names[0]} against {names[1]}: {found.compared} values compared, {found.differing} differ by more than rounding"]
    for label, d in (("FIRST", found.first), ("form", found.form if found.form != found.first else None)):
        if d is not None:
            said += [f"{label}  {d.what}", f"  where    {', '.join(phrases.where(d.place)) or d.place.stage or 'the run'}"]
            said += [f"  before   {number(d.before)}  {phrases.line(d.place)}", f"  after    {number(d.after)}  {phrases.line(d.other)}"]
    if found.first is None:
        said.append("no value differs by more than rounding")
    said += [f"  {'because?' if n == 0 else '     or?'} {e.says} ({e.kind})" for n, e in enumerate(found.explanations[:6])]
    return said
