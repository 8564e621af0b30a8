"""`sabueso report` and `sabueso ui`."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

import click

from .. import config, wiring
from ..catalogue import Check
from ..checks import catalogue
from ..diagnoses import Diagnosis
from ..errors import UsageError
from ..show import markdown
from ..store.browse import Browser
from ..store.layout import find_run

try:
    from ..serve.app import Pages
    from ..serve.run import bound, serve
    from ..show.pages import report as pages
except ImportError as error:  # the base install is light
    raise UsageError(f"{error.name} is not installed: pip install 'sabueso[ui]' brings what pages need") from error

PORT = 8765
where = click.option("--dir", "dir_", metavar="DIR", help="Where runs lie (default .sabueso/runs, or $SABUESO_HOME/runs).")


@click.command()
@click.argument("name", required=False, metavar="[RUN]")
@where
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Where to write it (default RUN.html; - for stdout).")
@click.option("--format", "form", type=click.Choice(["html", "markdown"]), default="html", help="One HTML file (default), or Markdown for a pull request.")
def report(name: str | None, dir_: str | None, output: Path | None, form: str) -> None:
    """Write a run as one file that opens anywhere and loads nothing: the newest run, or the one named."""
    settings = config.load()
    settings.dir = dir_ or settings.dir
    folder = find_run(settings.home(), name)
    text = written(folder, settings) if form == "html" else markdown.render(told(folder, settings))
    if str(output) == "-":
        sys.stdout.write(text)
        return
    target = output or Path(f"{folder.name}.{'html' if form == 'html' else 'md'}")
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{target} can't be written ({error.strerror or error}); write elsewhere with -o") from error
    click.echo(f"{target} ({len(text.encode()) / 1000:.0f} KB)")


def written(folder: Path, settings: config.Config) -> str:
    """The report of a run folder."""
    browser = Browser(folder)
    try:
        return pages.render(told(folder, settings), browser, *known(catalogue()))
    finally:
        browser.close()


def told(folder: Path, settings: config.Config) -> Diagnosis:
    """The diagnosis as it was told, or by today's rules where none was kept."""
    return wiring.kept(folder) or wiring.diagnose_run(folder, settings.chosen(catalogue()), settings)


def known(checks: dict[str, Check]) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """(evidence names, what it means) of each check: what a page says beside a finding."""
    return {n: c.needs + c.uses for n, c in checks.items()}, {n: c.sections.get("What it means", c.sections[""]) for n, c in checks.items()}


@click.command()
@click.argument("name", required=False, metavar="[RUN]")
@where
@click.option("--port", type=click.IntRange(0, 65535), help="The port (default 8765, or a free one where that is taken).")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at; other machines reach only what is not the loopback.")
@click.option("--idle", type=click.FloatRange(1), hidden=True, help="End after so many seconds without a request.")
def ui(name: str | None, dir_: str | None, port: int | None, host: str, idle: float | None) -> None:
    """Show the runs as a page on this machine, live while one goes on. The address that is printed carries a token; without it nothing is shown."""
    settings = config.load()
    settings.dir = dir_ or settings.dir
    folder = find_run(settings.home(), name) if name else None
    home = folder.parent if folder else settings.home()
    pages_of = Pages(home.resolve(), lambda f: wiring.diagnose_run(f, settings.chosen(catalogue()), settings), wiring.kept, known(catalogue()), summaries())
    token = os.environ.get("SABUESO_TOKEN") or secrets.token_urlsafe(16)
    try:
        held = bound(host, PORT if port is None else port, port is not None)
    except OSError as error:
        raise UsageError(f"port {port} of {host} can't be had ({error.strerror or error}): name another with --port") from error
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"http://{shown}:{held.getsockname()[1]}/{'r/' + folder.name if folder else ''}?token={token}")
    serve(pages_of.app(), held, token, host, idle)


def summaries() -> dict[str, tuple[str, str]]:
    """(stage, what it looks for) of each check."""
    return {n: (c.stage, " ".join(c.sections[""].split("\n\n")[0].split())) for n, c in catalogue().items()}
