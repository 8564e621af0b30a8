"""`sabueso export` and `sabueso import`: runs to and from the tools that people use already."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from .. import config, wiring
from ..checks import catalogue
from ..diagnoses import Diagnosis
from ..errors import UsageError
from ..exchange import kept, mlflow, parquet, tensorboard, trace
from ..store.browse import Browser, Listed
from ..store.layout import find_run

where = click.option("--dir", "dir_", metavar="DIR", help="Where runs lie (default .sabueso/runs, or $SABUESO_HOME/runs).")
MOST = 20
BESIDE = ("rows", "trained")  # what an evaluation's recount notes beside its errors


@click.command()
@click.argument("form", type=click.Choice(["parquet", "trace", "tensorboard", "mlflow"]))
@click.argument("name", required=False, metavar="[RUN]")
@where
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where to write it (default beside you, named for the run).")
@click.option("--uri", help="MLflow's tracking URI (default $MLFLOW_TRACKING_URI, or what MLflow has by default).")
def export(form: str, name: str | None, dir_: str | None, output: Path | None, uri: str | None) -> None:
    """Write a run for another tool: Parquet tables, a trace for Perfetto, event files of TensorBoard, a run of MLflow."""
    settings = _settings(dir_)
    folder = find_run(settings.home(), name)
    browser = Browser(folder)
    try:
        click.echo(_exported(form, browser, _diagnosis(folder, settings), output, uri))
    finally:
        browser.close()


def _exported(form: str, browser: Browser, diagnosis: Diagnosis, output: Path | None, uri: str | None) -> str:
    """Write it, and say where it is."""
    name = browser.folder.name
    if form == "trace":
        return str(trace.write(output or Path(f"{name}.trace.json.gz"), browser, diagnosis))
    if form == "parquet":
        return "\n".join(map(str, parquet.write(output or Path(f"{name}-parquet"), browser, diagnosis)))
    if form == "mlflow":
        settings = {
            f"{f.name}.{k}"[:250]: str(v) for n in ("logged_parameter", "initial_weights") for f in browser.facts(n, most=20) for k, v in _settings_of(f.value)
        }
        verdict = ", ".join(c.check for c in diagnosis.culprits) or "nothing found"
        return f"run {mlflow.write(uri, name, _curves(browser), settings, {'sabueso.verdict': verdict, 'sabueso.run': name})}"
    folder = output or Path("runs") / name
    tensorboard.write(folder, _curves(browser), browser.meta.get("started"))
    return f"{folder}: tensorboard --logdir {folder.parent}"


def _settings_of(value: dict) -> Iterator[tuple[str, object]]:  # type: ignore[type-arg]
    if "key" in value:
        yield str(value["key"]), value.get("value")
    yield from (value.get("settings") or {}).items()


def _curves(browser: Browser) -> Iterator[tuple[str, list[tuple[int, float]]]]:
    """(tag, points) of every series; a tag that is met again is told apart by its process."""
    met: set[str] = set()
    for s in browser.listing():
        if s.name == "evaluation_error" and s.place.tensor in BESIDE:
            continue
        tag = _tag(s) if _tag(s) not in met else f"{_tag(s)}/{s.process}-{s.number}"
        met.add(tag)
        steps, values = browser.points(s.number)
        yield tag, list(zip(steps.tolist(), values.tolist()))


def _tag(s: Listed) -> str:
    if s.name == "logged":
        return "/".join(p for p in (s.place.estimator, s.place.tensor) if p)
    return "/".join(dict.fromkeys(p for p in (s.name, s.place.module, s.place.tensor) if p))


@click.command("import")
@click.argument("form", type=click.Choice(["tensorboard", "mlflow"]))
@click.argument("source")
@where
@click.option("--run", "only", help="MLflow: only the run of this id.")
@click.option("-n", "most", type=click.IntRange(1), default=MOST, show_default=True, help="The newest runs at most.")
def import_(form: str, source: str, dir_: str | None, only: str | None, most: int) -> None:
    """Make runs of the curves of another tool, so that `sabueso diagnose`, `report` and `ui` work on them.

    \b
    sabueso import tensorboard runs/
    sabueso import mlflow sqlite:///mlflow.db
    sabueso import mlflow http://127.0.0.1:5000
    """
    settings = _settings(dir_)
    try:
        folders = list(_imported(form, source, settings.home(), only, most))
    except OSError as error:
        raise UsageError(f"{settings.home()} can't be written ({error.strerror or error}): use --dir for another place") from error
    for folder in folders:
        wiring.keep(wiring.diagnose_run(folder, settings.chosen(catalogue()), settings), folder)
        click.echo(folder.name)
    click.echo(f"next: sabueso show {folders[-1].name}")


def _imported(form: str, source: str, home: Path, only: str | None, most: int) -> Iterator[Path]:
    if form == "mlflow":
        for run in reversed(mlflow.read(source, most, only)):
            yield kept.keep(home, run.name, run.curves, run.settings, re.sub(r"//[^/@]*@", "//", source), run.started)  # no password in a run
        return
    found = tensorboard.read(Path(source))
    newest = sorted((f for f, curves in found.items() if curves), key=lambda f: f.stat().st_mtime if f.exists() else 0)[-most:]
    if not newest:
        raise UsageError(f"{source}: its event files hold no scalar")
    for folder in newest:
        yield kept.keep(home, folder.name or "tensorboard", found[folder], {}, str(folder))


def _settings(dir_: str | None) -> config.Config:
    settings = config.load()
    settings.dir = dir_ or settings.dir
    return settings


def _diagnosis(folder: Path, settings: config.Config) -> Diagnosis:
    return wiring.kept(folder) or wiring.diagnose_run(folder, settings.chosen(catalogue()), settings)
