"""Contract: what a table is promised to be, column by column; read from and written to a small part of YAML that a person edits."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .errors import SabuesoError, UsageError

TYPES = ("integer", "number", "boolean", "text", "time", "other")
KEYS = {"type", "least", "most", "values", "missing", "unique", "optional"}
PLAIN = re.compile(r"[A-Za-z_][\w ./%-]*[\w.%]|[A-Za-z_]")
WORDS = {"true": True, "false": False, "null": None, "~": None}


class ContractError(SabuesoError, ValueError):
    """Data that break a contract; `.broken` lists each rule with the rows that break it."""

    def __init__(self, text: str, broken: list[dict[str, Any]]) -> None:
        super().__init__(text)
        self.broken = broken


@dataclass
class Rule:
    """What one column is: its type, range (of times as seconds since 1970), values, share that may be missing."""

    type: str = "other"
    least: float | None = None
    most: float | None = None
    values: list[Any] | None = None
    missing: float = 1.0
    unique: bool = False
    optional: bool = False  # may the whole column be absent?


@dataclass
class Contract:
    """The rules by column; `extra` says whether other columns may be there, `rows` how many rows there must be at least."""

    columns: dict[str, Rule] = field(default_factory=dict)
    table: str = ""
    rows: int = 1
    extra: bool = True

    def text(self) -> str:
        """As YAML."""
        said = [f"# What {self.table or 'the table'} is. Edit it, then hold data to it:", "#   sabueso check --contract contract.yaml --train new.parquet",
                "# type: integer, number, boolean, text, time or other; missing: the share that may be; optional: the column may be absent",
                "contract: 1", f"table: {scalar(self.table)}", f"rows: {self.rows}  # at least",
                f"extra: {'true' if self.extra else 'false'}  # may columns be there that are not named here?", "columns:"]  # fmt: skip
        for name, rule in self.columns.items():
            said.append(f"  {scalar(name)}:")
            said += [f"    {k}: {scalar(stamp(v) if rule.type == 'time' and k in ('least', 'most') else v)}" for k, v in vars(rule).items()
                     if v is not None and v is not False]  # fmt: skip
        return "\n".join(said) + "\n"

    @classmethod
    def of(cls, text: str, where: str = "contract") -> Contract:
        """From YAML. Raises UsageError that names the line or column that can't be used."""
        data = parsed(text, where)
        if not isinstance(data, dict) or not isinstance(data.get("columns"), dict):
            raise UsageError(f"{where}: a contract has `columns:` with a rule for each; `sabueso contract infer TABLE` writes one")
        if data.get("contract", 1) != 1:
            raise UsageError(f"{where}: it is of format {data['contract']}; this sabueso reads format 1")
        rules = {str(n): _rule(str(n), r, where) for n, r in data["columns"].items()}
        return cls(rules, str(data.get("table") or ""), int(data.get("rows") or 0), bool(data.get("extra", True)))


def _rule(name: str, held: Any, where: str) -> Rule:
    if not isinstance(held, dict):
        raise UsageError(f"{where}: the rule of column {name!r} must be a mapping, as in {{type: number, least: 0}}")
    unknown = sorted(set(map(str, held)) - KEYS)
    if unknown:
        raise UsageError(f"{where}: column {name!r} has no rule {unknown[0]!r} (there are: {', '.join(sorted(KEYS))})")
    rule = Rule(**{k: seconds(v, name, where) if held.get("type") == "time" and k in ("least", "most") else v for k, v in held.items()})
    if rule.type not in TYPES:
        raise UsageError(f"{where}: column {name!r} can't be of type {rule.type!r} (there are: {', '.join(TYPES)})")
    if rule.values is not None and not isinstance(rule.values, list):
        raise UsageError(f"{where}: the values of column {name!r} must be a list, as in [red, green]")
    for key in ("least", "most", "missing"):
        value = getattr(rule, key)
        if value is not None and (not isinstance(value, (int, float)) or isinstance(value, bool)):
            raise UsageError(f"{where}: {key} of column {name!r} must be a number, not {value!r}")
    return rule


def stamp(value: float) -> str:
    """Seconds since 1970 as a person writes a time."""
    return str(np.datetime64(int(value), "s"))


def seconds(value: Any, name: str, where: str) -> Any:
    """A time as a person writes it in seconds since 1970. Raises UsageError."""
    if not isinstance(value, str):
        return value
    try:
        return float(np.datetime64(value, "us").astype(np.int64) / 1e6)
    except ValueError as error:
        raise UsageError(f"{where}: {value!r} of column {name!r} is no time; write it as 2024-01-31 or 2024-01-31T12:00:00") from error


# ---- a small part of YAML: mappings by indentation, lists and mappings in brackets, lists by dashes, comments


def scalar(value: Any) -> str:
    """A value as YAML; texts are quoted unless they can be nothing else."""
    if isinstance(value, list):
        return "[" + ", ".join(scalar(v) for v in value) + "]"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, (int, float)):
        return repr(value) if isinstance(value, int) or not math.isfinite(value) or value != int(value) or abs(value) > 1e15 else repr(float(value))
    plain = PLAIN.fullmatch(value) and value.lower() not in (*WORDS, "yes", "no", "on", "off", "nan", "inf", "y", "n")
    return value if plain else json.dumps(value, ensure_ascii=False)


def parsed(text: str, where: str) -> Any:
    """The value that a text stands for. Raises UsageError with the line that can't be read."""
    lines = [(n, len(t) - len(t.lstrip()), t.strip()) for n, raw in enumerate(text.splitlines(), 1) if (t := uncommented(raw)).strip()]
    value, rest = _block(lines, lines[0][1] if lines else 0, where)
    if rest:
        raise UsageError(f"{where}, line {rest[0][0]}: {rest[0][2][:40]!r} stands at an indentation that nothing opened")
    return value


def uncommented(line: str) -> str:
    """A line without its comment: a # outside quotes, at the start or after a blank."""
    quote = ""
    for i, c in enumerate(line):
        if quote:
            quote = "" if c == quote and line[i - 1] != "\\" else quote
        elif c in "\"'" and (i == 0 or line[i - 1] in " [{,:-"):
            quote = c
        elif c == "#" and (i == 0 or line[i - 1] in " \t"):
            return line[:i]
    return line


Lines = list[tuple[int, int, str]]


def _block(lines: Lines, indent: int, where: str) -> tuple[Any, Lines]:
    if lines and lines[0][2].startswith("- "):
        made: list[Any] = []
        while lines and lines[0][1] == indent and lines[0][2].startswith("- "):
            made.append(_value(lines[0][2][2:].strip(), where, lines[0][0]))
            lines = lines[1:]
        return made, lines
    held: dict[str, Any] = {}
    while lines and lines[0][1] == indent:
        number, _, line = lines[0]
        key, rest = _key(line, where, number)
        if key in held:
            raise UsageError(f"{where}, line {number}: {key!r} is given twice")
        lines = lines[1:]
        if rest:
            held[key] = _value(rest, where, number)
        elif lines and (lines[0][1] > indent or (lines[0][1] == indent and lines[0][2].startswith("- "))):
            held[key], lines = _block(lines, lines[0][1], where)
        else:
            held[key] = None
    return held, lines


def _key(line: str, where: str, number: int) -> tuple[str, str]:
    found = re.match(r"""("(?:[^"\\]|\\.)*"|'[^']*'|[^"'\[{][^:]*?)\s*:(?:\s+|$)(.*)""", line)
    if not found:
        raise UsageError(f"{where}, line {number}: {line[:40]!r} is no `key: value`")
    return str(_text(found.group(1))), found.group(2).strip()


def _value(text: str, where: str, number: int) -> Any:
    value, rest = _flow(text, where, number)
    if rest.strip():
        raise UsageError(f"{where}, line {number}: {rest.strip()[:40]!r} follows a value; put quotes around the whole")
    return value


def _flow(text: str, where: str, number: int, nested: bool = False) -> tuple[Any, str]:
    """A value at the start of a text, and what follows it; within brackets it ends at a comma or the closing one."""
    text = text.lstrip()
    if text[:1] in ("[", "{"):
        close, made, rest = {"[": "]", "{": "}"}[text[0]], [], text[1:].lstrip()
        while rest and not rest.startswith(close):
            if close == "}":
                key, _, rest = rest.partition(":")
                value, rest = _flow(rest, where, number, True)
                made.append((str(_text(key.strip())), value))
            else:
                value, rest = _flow(rest, where, number, True)
                made.append(value)
            rest = rest.lstrip().removeprefix(",").lstrip()
        if not rest:
            raise UsageError(f"{where}, line {number}: {text[:40]!r} is not closed by {close}")
        return (dict(made) if close == "}" else made), rest[1:]
    quoted = re.match(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'""", text)
    end = quoted.end() if quoted else next((i for i, c in enumerate(text) if nested and c in ",]}"), len(text))
    return _text(text[:end].strip()), text[end:]


def _text(text: str) -> Any:
    """A scalar: quoted text, number, true, false, null, else text."""
    if text[:1] == '"':
        return json.loads(text)
    if text[:1] == "'":
        return text[1:-1].replace("''", "'")
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    if re.fullmatch(r"[-+]?\d+", text):
        return int(text)
    try:
        return float(text) if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text) else text
    except ValueError:
        return text
