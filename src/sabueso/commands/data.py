"""`sabueso check` and `sabueso contract`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

from ..data.checking import check_data
from ..data.exports import EXPORTS, exported
from ..data.holding import contract_of, infer
from ..errors import UsageError
from ..show import forms
from ..show import json as as_json

FORMATS = ("text", "json", "markdown", "sarif", "github")


@click.command()
@click.option("--train", metavar="TABLE", help="The training rows: CSV, Parquet, JSON, Arrow, or FILE.db::TABLE (or ::'SELECT ..') of SQLite.")
@click.option("--test", metavar="TABLE", help="The test rows: held against the training rows.")
@click.option("--reference", metavar="TABLE", help="Rows of the past, as they should be.")
@click.option("--current", metavar="TABLE", help="Rows of now: held against the reference (or, without one, the training rows).")
@click.option("--target", metavar="COLUMN", help="The label.")
@click.option("--time", "time_", metavar="COLUMN", help="When a row is of: test rows must be later, and the reference's own days are the yardstick of drift.")
@click.option("--group", metavar="COLUMN", help="What must not stand on both sides (a patient, a customer).")
@click.option("--contract", type=click.Path(exists=True, dir_okay=False), help="Hold every table to this contract (see `sabueso contract infer`).")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="The form of the diagnosis (default text).")
@click.option("--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), help="Write the diagnosis as data to this file.")
@click.option("--strict", is_flag=True, help="End with 1 when an error stands.")
@click.option("--all", "everything", is_flag=True, help="Say all: every note, every check that could not see.")
@click.option("--memory", metavar="SIZE", help="What DuckDB may hold in memory before it spills to disk, as in 4GB.")
@click.option("--select", multiple=True, metavar="NAME", help="Ask only these checks (repeat, or separate by commas).")
@click.option("--ignore", multiple=True, metavar="NAME", help="Leave these checks out.")
def check(train: str | None, test: str | None, reference: str | None, current: str | None, target: str | None, time_: str | None,
          group: str | None, contract: str | None, form: str, json_path: Path | None, strict: bool, everything: bool, memory: str | None,
          select: tuple[str, ...], ignore: tuple[str, ...]) -> None:  # fmt: skip
    """Check tables without a program: each by itself, test against train, current against reference.

    \b
    sabueso check --train train.parquet --test test.parquet --target churned --group customer
    sabueso check --reference january.csv --current february.csv --time day
    sabueso check --train new.parquet --contract contract.yaml --strict
    """
    live = Progress()
    try:
        found = check_data(train, test=test, reference=reference, current=current, target=target, time=time_, group=group, contract=contract,
                           select=_names(select), ignore=_names(ignore), memory=memory, say=live.say)  # fmt: skip
    finally:
        live.end()
    found.run["command"] = ["sabueso", *sys.argv[1:]]
    if json_path:
        _write(json_path, as_json.dumps(found))
    forms.tell(found, form, sys.stdout, everything)
    if strict and any(c.severity == "error" for c in found.culprits):
        sys.exit(1)


@click.group()
def contract() -> None:
    """What a table is promised to be."""


@contract.command("infer")
@click.argument("table")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Where to write it (default: stdout).")
def infer_(table: str, output: Path | None) -> None:
    """Write down what a table is: types, ranges, values, missing rate, uniqueness; to read and to edit."""
    _put(infer(table).text(), output)


@contract.command()
@click.argument("path", metavar="CONTRACT")
@click.option("--to", "form", type=click.Choice(sorted(EXPORTS)), required=True, help="Which library's form.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Where to write it (default: stdout).")
def export(path: str, form: str, output: Path | None) -> None:
    """A contract as code of Pandera or Pydantic, or as a suite of Great Expectations."""
    _put(exported(contract_of(path), form), output)


class Progress:
    """One line on stderr, only on a terminal and only of work that takes a while."""

    def __init__(self, out: object = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.out, self.clock = sys.stderr if out is None else out, clock
        self.began, self.shown = clock(), False

    def say(self, text: str) -> None:
        """What is being done now."""
        if self.clock() - self.began > 1.0 and getattr(self.out, "isatty", lambda: False)():
            self.out.write(f"\r\x1b[2Ksabueso: {text} .. {self.clock() - self.began:.0f} s")  # type: ignore[attr-defined]
            self.out.flush()  # type: ignore[attr-defined]
            self.shown = True

    def end(self) -> None:
        """Take the line away."""
        if self.shown:
            self.out.write("\r\x1b[2K")  # type: ignore[attr-defined]
            self.out.flush()  # type: ignore[attr-defined]


def _put(text: str, output: Path | None) -> None:
    if output is None or str(output) == "-":
        click.echo(text, nl=False)
    else:
        _write(output, text)
        click.echo(f"sabueso: wrote {output}", err=True)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror or error}") from error


def _names(given: tuple[str, ...]) -> list[str]:
    return [n.strip() for text in given for n in text.split(",") if n.strip()]
