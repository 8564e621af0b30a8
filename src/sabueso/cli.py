"""The commands: each parses, then makes one call."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from . import __version__, config, wiring
from .checks import catalogue
from .errors import SabuesoError, StoreError
from .launch.supervise import end_like
from .launch.target import target
from .show import json as as_json
from .show.text import tell
from .store.reader import find_run, runs_in

PASS_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def cli() -> None:
    """sabueso names the culprit: the stage, step, module, column and line where the trouble of an AI pipeline began."""


@cli.command(context_settings=PASS_ON)
@click.option("--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), help="Write the diagnosis as data to this file.")
@click.option("--dir", "dir_", help="Where runs lie (default .sabueso/runs).")
@click.option("--strict", is_flag=True, help="End with 1 when a culprit of severity error stands.")
@click.option("--budget", type=float, help="Share of the program's time for full statistics (default 0.01).")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def run(json_path: Path | None, dir_: str | None, strict: bool, budget: float | None, command: tuple[str, ...]) -> None:
    """Run a script (or -m module, a notebook, torchrun, pytest) as Python would, and end with the diagnosis."""
    settings = config.load()
    settings.dir, settings.budget = dir_ or settings.dir, settings.budget if budget is None else budget
    chosen = settings.chosen(catalogue())
    ended, folder, trouble = wiring.watch_program(target(list(command)), settings, chosen)
    if trouble:
        click.echo(f"sabueso: {trouble}", err=True)
    failed = False
    if folder is not None:
        diagnosis = wiring.diagnose_run(folder, chosen, settings)
        text = as_json.dumps(diagnosis)
        (folder / "diagnosis.json").write_text(text)
        if json_path:
            json_path.write_text(text)
        tell(diagnosis, sys.stderr)
        failed = any(c.severity == "error" for c in diagnosis.culprits)
    if (strict or settings.strict) and failed and ended.status == 0:
        sys.exit(1)
    end_like(ended)


@cli.command()
@click.argument("name", required=False)
@click.option("--dir", "dir_")
def show(name: str | None, dir_: str | None) -> None:
    """The diagnosis of a run: the newest, or the one named."""
    diagnose_(name, dir_)


@cli.command()
@click.argument("name", required=False)
@click.option("--dir", "dir_")
def diagnose(name: str | None, dir_: str | None) -> None:
    """Check a stored run again, by today's rules."""
    diagnose_(name, dir_)


def diagnose_(name: str | None, dir_: str | None) -> None:
    settings = config.load()
    settings.dir = dir_ or settings.dir
    tell(wiring.diagnose_run(find_run(settings.home(), name), settings.chosen(catalogue()), settings), sys.stdout)


@cli.command()
@click.option("--dir", "dir_")
def runs(dir_: str | None) -> None:
    """The runs, newest first."""
    settings = config.load()
    settings.dir = dir_ or settings.dir
    for folder in runs_in(settings.home()):
        click.echo(folder.name)


@cli.command()
def checks() -> None:
    """The catalogue."""
    for name, c in catalogue().items():
        click.echo(f"{name:28} {c.stage:15} {c.severity:8} {c.sections[''].splitlines()[0] if c.sections[''] else ''}")


@cli.command()
@click.argument("name")
def explain(name: str) -> None:
    """A check's page: what it means, why it is bad, what it looks at, the remedy."""
    known = catalogue()
    if name not in known:
        raise StoreError(f"no check named {name!r}; `sabueso checks` lists them")
    click.echo(known[name].doc)


def main() -> None:
    """Errors that a person is meant to read are one line and exit status 2."""
    try:
        cli(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.Abort:
        sys.exit(130)
    except SabuesoError as error:
        click.echo(f"sabueso: {error}", err=True)
        sys.exit(error.exit_status)
