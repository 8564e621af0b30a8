"""The commands: each parses, then makes one call.

`run` starts the person's program before the checks and numpy are loaded: they are imported while it runs (bench/startup.py measures it).
So what needs them is reached through `late()`, the one import that does not stand at the head of a file.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import __version__, config
from .commands import Group
from .commands.page import can_serve, open_page
from .commands.probes import probe_options, set_probes
from .errors import SabuesoError, UsageError
from .launch.program import watch_program
from .launch.supervise import end_like
from .launch.target import target
from .show import forms
from .show import json as as_json
from .show.live import Live
from .show.tables import checks_table, page, runs_table
from .store.layout import find_run, runs_in
from .store.writer import Writer

if TYPE_CHECKING:
    from .catalogue import Check
    from .diagnoses import Diagnosis

PASS_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}
FORMATS = ("text", "json", "markdown", "sarif", "github", "junit")

where = click.option("--dir", "dir_", metavar="DIR", help="Where runs lie (default .sabueso/runs, or $SABUESO_HOME/runs).")
form = click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="The form of the diagnosis (default text).")
full = click.option("--all", "everything", is_flag=True, help="Say all: every note, every check that could not see, own errors.")
select = click.option("--select", multiple=True, metavar="NAME", help="Ask only these checks (repeat, or separate by commas).")
ignore = click.option("--ignore", multiple=True, metavar="NAME", help="Leave these checks out.")


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sabueso")
def cli() -> None:
    """sabueso names the culprit: the stage, step, module, column and line where the trouble of an AI pipeline began."""


@cli.command(context_settings=PASS_ON)
@click.option("--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), help="Write the diagnosis as data to this file.")
@form
@where
@click.option("--ui", "page", is_flag=True, help="Show the run as a page on this machine while it goes on.")
@click.option("--strict", is_flag=True, help="End with 1 when a culprit of severity error stands and the program succeeded.")
@click.option("--budget", type=click.FloatRange(0, 1), help="Share of the program's time for full statistics (default 0.01).")
@probe_options
@select
@ignore
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def run(json_path: Path | None, form: str, dir_: str | None, page: bool, strict: bool, budget: float | None, select: tuple[str, ...],
        ignore: tuple[str, ...], command: tuple[str, ...], **probes: Any) -> None:  # fmt: skip
    """Run a script (or -m MODULE, -c CODE, a notebook, torchrun, pytest) as Python would, and end with the diagnosis.

    \b
    sabueso run train.py --epochs 3
    sabueso run -m package.train
    sabueso run torchrun --nproc-per-node 2 train.py
    """
    settings = _settings(dir_, select, ignore)
    settings.budget = settings.budget if budget is None else budget
    _can_write(json_path)
    chosen = _target_and_checks(settings)
    goal = target(list(command))
    probing = set_probes(probes)
    if page:
        can_serve()
    shown = sys.stderr if probes["stop"] is None else io.StringIO()  # the debugger has the terminal
    wanted, live = late().wanted(chosen) if chosen is not None else None, Live(shown, lambda folder: _proven(folder, settings))
    try:
        ended, folder, trouble = watch_program(goal, settings, wanted, _meanwhile(live, page))
    finally:
        live.end()
    if trouble:
        _say(trouble)
    diagnosis = _diagnosed(folder, settings, json_path) if folder is not None else None
    if diagnosis is not None:
        _show(diagnosis, form, sys.stderr)
        if probing and not diagnosis.culprits:
            _say(probing)
        if (strict or settings.strict) and ended.status == 0 and any(c.severity == "error" for c in diagnosis.culprits):
            sys.exit(1)
    end_like(ended)


@cli.command()
@click.argument("name", required=False, metavar="[RUN]")
@where
@form
@full
def show(name: str | None, dir_: str | None, form: str, everything: bool) -> None:
    """The diagnosis of a run as it was told: the newest, or the one named."""
    settings = _settings(dir_)
    folder = find_run(settings.home(), name)
    _show(late().kept(folder) or _again(folder, settings), form, sys.stdout, everything)


@cli.command()
@click.argument("name", required=False, metavar="[RUN]")
@where
@form
@full
@select
@ignore
def diagnose(name: str | None, dir_: str | None, form: str, everything: bool, select: tuple[str, ...], ignore: tuple[str, ...]) -> None:
    """Check a stored run again, by today's rules."""

    settings = _settings(dir_, select, ignore)
    _show(_again(find_run(settings.home(), name), settings), form, sys.stdout, everything)


@cli.command()
@where
@click.option("-n", "most", type=int, default=20, help="How many (default 20).")
def runs(dir_: str | None, most: int) -> None:
    """The runs, newest first: when, name, outcome, verdict, seconds."""
    settings = _settings(dir_)
    folders = runs_in(settings.home())
    if not folders:
        raise UsageError(f"no runs in {settings.home()}: start one with `sabueso run SCRIPT`")
    click.echo(runs_table(folders[:most], len(folders)))


@cli.command()
@click.argument("word", required=False)
def checks(word: str | None) -> None:
    """The catalogue by stage: every fault that is looked for (those with WORD in them)."""
    click.echo(checks_table(late().catalogue(), word))


@cli.command()
@click.argument("name")
def explain(name: str) -> None:
    """A check's page: what it means, why it is bad, what it looks at, the remedy, a broken and a mended program."""
    known = late().catalogue()
    if name not in known:
        near = get_close_matches(name, known, 3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise UsageError(f"no check named {name!r}: {hint}`sabueso checks` lists them")
    click.echo(page(known[name], sys.stdout))


def main() -> None:
    """Errors that a person is meant to read are one line and exit status 2."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us; what we open here is not handed to the program
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    try:
        cli(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.Abort:
        sys.exit(130)
    except SabuesoError as error:
        _say(str(error))
        sys.exit(error.exit_status)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


# ---- what the commands share


def late() -> Any:
    """The wiring, and with it numpy and the checks: imported when it is first needed."""
    from . import wiring

    return wiring


def _settings(dir_: str | None, select: tuple[str, ...] = (), ignore: tuple[str, ...] = ()) -> config.Config:
    settings = config.load()
    settings.dir = dir_ or settings.dir
    settings.narrow(_names(select), _names(ignore))
    return settings


def _names(given: tuple[str, ...]) -> list[str]:
    return [n.strip() for text in given for n in text.split(",") if n.strip()]


def _target_and_checks(settings: config.Config) -> dict[str, Check] | None:
    """The checks that are asked, where the settings name any; their names are proved before the program starts."""
    if not settings.narrows:
        return None
    return settings.chosen(late().catalogue())


def _meanwhile(live: Live, page: bool = False) -> Callable[[Writer], Any]:
    """What the parent does while the program runs: first open the page and load what the diagnosis will need, then the live line."""
    wanted = [page]

    def look(writer: Writer) -> None:
        if wanted.pop() if wanted else False:
            _say(f"the page of this run: {open_page(writer.folder)}")
        late().catalogue()
        live.look(writer)

    return look


def _proven(folder: Path, settings: config.Config) -> list[str]:
    """Culprits of a run still going on that are exact facts: the rest may look otherwise by the end."""
    return [c.check for c in _again(folder, settings).culprits if c.verified == "fact"]


def _diagnosed(folder: Path, settings: config.Config, json_path: Path | None) -> Diagnosis | None:
    """The diagnosis, kept in the run folder and written where asked. What fails here is said, and the program's exit status stands."""
    try:
        diagnosis = _again(folder, settings)
        trouble = late().keep(diagnosis, folder)
        if trouble:
            _say(trouble)
        if json_path:
            json_path.write_text(as_json.dumps(diagnosis), encoding="utf-8")
        return diagnosis
    except (SabuesoError, OSError) as error:
        _say(str(error))
        return None


def _again(folder: Path, settings: config.Config) -> Diagnosis:
    return late().diagnose_run(folder, settings.chosen(late().catalogue()), settings)


def _show(diagnosis: Diagnosis, form: str, out: Any, everything: bool = False) -> None:
    forms.tell(diagnosis, form, out, everything)


def _can_write(path: Path | None) -> None:
    """Known before the program runs, not after hours of it."""
    if path is None:
        return
    folder = path.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"--json: there is no folder {folder}; make it, or write elsewhere")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise UsageError(f"--json: {path} can't be written; write elsewhere")


def _say(text: str) -> None:
    click.echo(f"sabueso: {text}", err=True)
