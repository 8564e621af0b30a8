"""A contract as others write it: Pandera and Pydantic as Python, Great Expectations as the JSON of a suite. Text alone: none of them is needed."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Callable
from typing import Any

from ..contracts import Contract, Rule, stamp
from ..errors import UsageError

PANDERA = {"integer": "int", "number": "float", "boolean": "bool", "text": "str", "time": '"datetime64[ns]"', "other": "None"}
PYDANTIC = {"integer": "int", "number": "float", "boolean": "bool", "text": "str", "time": "datetime", "other": "Any"}
NUMBERS = ("integer", "number")


def exported(contract: Contract, form: str) -> str:
    """The contract as text of that form. Raises UsageError for a form that there is not."""
    if form not in EXPORTS:
        raise UsageError(f"there is no form {form!r} (there are: {', '.join(sorted(EXPORTS))})")
    return EXPORTS[form](contract)


def _bound(rule: Rule, value: float | None) -> Any:
    """A bound as code: of a time an ISO text."""
    return None if value is None else stamp(value) if rule.type == "time" else value


def pandera(contract: Contract) -> str:
    """A DataFrameSchema."""
    head = f'"""The schema of {contract.table or "the table"}, exported from a contract of sabueso."""'
    lines = [head, "", "import pandas as pd", "import pandera.pandas as pa",
             "",
             "schema = pa.DataFrameSchema(", "    {"]  # fmt: skip
    for name, rule in contract.columns.items():
        checks = _pandera_checks(rule)
        parts = [PANDERA[rule.type], *([f"[{', '.join(checks)}]"] if checks else []), f"nullable={rule.missing > 0}"]
        parts += [f"{k}=True" for k, on in (("unique", rule.unique), ("coerce", rule.type in ("number", "time"))) if on]
        parts += ["required=False"] if rule.optional else []
        lines.append(f"        {name!r}: pa.Column({', '.join(parts)}),")
    lines += ["    },", f"    strict={not contract.extra},"]
    if contract.rows > 0:
        lines.append(f"    checks=pa.Check(lambda table: len(table) >= {contract.rows}),")
    return "\n".join([*lines, ")", ""])


def _pandera_checks(rule: Rule) -> list[str]:
    made = []
    value = (lambda v: f"pd.Timestamp({_bound(rule, v)!r})") if rule.type == "time" else repr
    if rule.type in (*NUMBERS, "time"):
        made += [f"pa.Check.ge({value(rule.least)})"] if rule.least is not None else []
        made += [f"pa.Check.le({value(rule.most)})"] if rule.most is not None else []
    if rule.values is not None:
        made.append(f"pa.Check.isin({rule.values!r})")
    if 0 < rule.missing < 1:
        made.append(f"pa.Check(lambda column: column.isna().mean() <= {rule.missing!r}, ignore_na=False)")
    return made


def pydantic(contract: Contract) -> str:
    """A model of one row."""
    imports = {"Any": any(r.type == "other" for r in contract.columns.values()), "Literal": any(r.values is not None for r in contract.columns.values())}
    lines = [f'"""One row of {contract.table or "the table"}, exported from a contract of sabueso."""', ""]
    lines += ["from datetime import datetime"] if any(r.type == "time" for r in contract.columns.values()) else []
    lines += [f"from typing import {', '.join(n for n, on in imports.items() if on)}"] if any(imports.values()) else []
    lines += ["", "from pydantic import BaseModel, ConfigDict, Field", "", "", "class Row(BaseModel):",
              f'    model_config = ConfigDict(extra="{"allow" if contract.extra else "forbid"}", populate_by_name=True)', ""]  # fmt: skip
    used: set[str] = set()
    lines += [_field(name, rule, used) for name, rule in contract.columns.items()]
    return "\n".join([*lines, ""])


def _field(name: str, rule: Rule, used: set[str]) -> str:
    kind = f"Literal[{', '.join(map(repr, rule.values))}]" if rule.values else PYDANTIC[rule.type]
    given = {"ge": rule.least, "le": rule.most} if rule.type in NUMBERS else {}
    parts = [f"{k}={v!r}" for k, v in given.items() if v is not None]
    safe = _identifier(name, used)
    parts += [f"alias={name!r}"] if safe != name else []
    absent = rule.missing > 0 or rule.optional
    default = ["default=None" if absent else "..."] if parts or absent else []
    return f"    {safe}: {kind}{' | None' if absent else ''}" + (f" = Field({', '.join([*default, *parts])})" if default else "")


def _identifier(name: str, used: set[str]) -> str:
    made = re.sub(r"\W", "_", name)
    made = f"column_{made}" if not made or made[0].isdigit() or made[0] == "_" else made
    made += "_" if keyword.iskeyword(made) or made in ("model_config", "copy", "json", "dict", "schema") or made.startswith("model_") else ""
    while made in used:
        made += "_"
    used.add(made)
    return made


def expectations(contract: Contract) -> str:
    """An expectation suite of Great Expectations 1.x."""
    made: list[dict[str, Any]] = []

    def add(kind: str, **kwargs: Any) -> None:
        made.append({"type": kind, "kwargs": kwargs, "meta": {}})

    if contract.rows > 0:
        add("expect_table_row_count_to_be_between", min_value=contract.rows, max_value=None)
    if not contract.extra:
        add("expect_table_columns_to_match_set", column_set=list(contract.columns), exact_match=True)
    types = {"integer": ["int", "int64", "INTEGER", "BIGINT"], "number": ["float", "float64", "int64", "DOUBLE", "INTEGER", "BIGINT"],
             "boolean": ["bool", "BOOLEAN"], "text": ["str", "object", "string", "VARCHAR"]}  # fmt: skip
    for name, rule in contract.columns.items():
        if not rule.optional:
            add("expect_column_to_exist", column=name)
        if rule.type in types:
            add("expect_column_values_to_be_in_type_list", column=name, type_list=types[rule.type])
        if rule.missing < 1:
            add("expect_column_values_to_not_be_null", column=name, mostly=round(1 - rule.missing, 6))
        if rule.type in (*NUMBERS, "time") and (rule.least is not None or rule.most is not None):
            add("expect_column_values_to_be_between", column=name, min_value=_bound(rule, rule.least), max_value=_bound(rule, rule.most))
        if rule.values is not None:
            add("expect_column_values_to_be_in_set", column=name, value_set=rule.values)
        if rule.unique:
            add("expect_column_values_to_be_unique", column=name)
    return json.dumps({"name": contract.table or "contract", "expectations": made, "meta": {"exported_by": "sabueso"}}, indent=2, ensure_ascii=False) + "\n"


EXPORTS: dict[str, Callable[[Contract], str]] = {"pandera": pandera, "pydantic": pydantic, "great-expectations": expectations}
