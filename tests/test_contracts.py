"""Contracts: inferred, edited, held to, exported; and the small part of YAML that they are written in."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pydantic
import pytest
import yaml
from programs import sabueso as command

import sabueso
from sabueso.contracts import Contract, ContractError, Rule, parsed
from sabueso.data.exports import exported
from sabueso.data.holding import infer
from sabueso.errors import UsageError


def people(rows: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({
        "id": np.arange(rows), "age": rng.integers(18, 90, rows), "height": rng.normal(170, 9, rows).round(1), "city": rng.choice(["Lima", "Oslo: N", "no"], rows),
        "member": rng.random(rows) < 0.5, "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, rows), unit="D"),
        "score": np.where(np.arange(rows) % 10 == 0, np.nan, rng.random(rows)),
    })  # fmt: skip


def test_what_is_inferred_holds_for_its_own_table_and_reads_back() -> None:
    contract = infer(people())
    rules = contract.columns
    assert rules["id"].unique and rules["age"].type == "integer" and rules["member"].type == "boolean" and rules["since"].type == "time"
    assert rules["city"].values == ["Lima", "Oslo: N", "no"] and 0.1 < rules["score"].missing < 0.3 and rules["height"].least < people().height.min()
    assert Contract.of(contract.text()) == contract
    assert sabueso.enforce(contract)(people()).equals(people())


def test_it_is_yaml_as_others_read_it() -> None:
    text = infer(people()).text()
    assert yaml.safe_load(text) == parsed(text, "contract")


@pytest.mark.parametrize("text", [
    "a: 1\nb: [x, 'y, z', \"q\\\"\", 3.5, true, null]\nc:\n  d: {e: 1, f: [2, 3]}  # why\n", "list:\n  - one\n  - 2\nurl: http://x.y/z#frag\n",
    "key: 'it''s'\n\"odd: key\": text with spaces\nempty:\nn: -1e3\n", "a:\n- 1\n- 2\nb: x\n",
])  # fmt: skip
def test_the_reader_agrees_with_pyyaml(text: str) -> None:
    theirs = yaml.safe_load(text)
    if theirs.get("n") == "-1e3":
        theirs["n"] = -1000.0  # YAML 1.1 wants a dot there
    assert parsed(text, "t") == theirs


@pytest.mark.parametrize("text, said", [
    ("columns:\n  a:\n    tipe: number\n", "no rule 'tipe'"), ("columns:\n  a: {type: float}\n", "can't be of type 'float'"), ("a: [1, 2\n", "line 1"),
    ("columns: 3\n", "`columns:`"), ("columns:\n  a:\n    least: low\n", "least of column 'a'"), ("contract: 7\ncolumns:\n  a: {type: text}\n", "format 7"),
    ("just words\n", "no `key: value`"), ("columns:\n  a: {type: text}\n  a: {type: text}\n", "given twice"), ("", "`columns:`"),
])  # fmt: skip
def test_what_cannot_be_read_is_said_in_one_line(text: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        Contract.of(text)
    assert said in str(raised.value) and "\n" not in str(raised.value)


def broken_people() -> pd.DataFrame:
    table = people()
    table.loc[[3, 8], "age"] = -1
    table.loc[5, "city"] = "Atlantis"
    table.loc[7, "id"] = 6
    table.loc[table.index[:80], "score"] = np.nan
    table["member"] = "yes"
    return table.drop(columns=["height"])


def test_rows_that_break_it_are_named() -> None:
    with pytest.raises(ContractError) as raised:
        sabueso.enforce(infer(people()))(broken_people())
    found = {(b["column"], b["rule"]): b for b in raised.value.broken}
    assert found.keys() == {("age", "range"), ("city", "values"), ("id", "unique"), ("score", "missing"), ("member", "type"), ("height", "there")}
    assert found["age", "range"]["rows"] == [3, 8] and found["city", "values"]["rows"] == [5] and found["id", "unique"]["rows"] == [7]
    assert "rows 3, 8" in str(raised.value) and isinstance(raised.value, ValueError)


def test_it_decorates_what_gives_a_frame() -> None:
    @sabueso.enforce(Contract({"a": Rule("integer", least=0)}, extra=False))
    def load(value: int) -> pl.DataFrame:
        return pl.DataFrame({"a": [1, value]})

    assert load(2).height == 2 and load.__name__ == "load"
    with pytest.raises(ContractError, match="rows 1"):
        load(-2)


def test_check_holds_tables_to_it() -> None:
    told = {f.place.column: f for f in sabueso.check_data(broken_people(), contract=infer(people())).culprits if f.check == "contract-broken"}
    assert told["age"].place.row == [3, 8] and told["age"].severity == "error" and told.keys() >= {"age", "city", "id", "score", "member", "height"}
    assert not sabueso.check_data(people(), contract=infer(people())).culprits


def test_command(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "old.csv", index=False)
    broken_people().to_csv(tmp_path / "new.csv", index=False)
    assert command("contract", "infer", "old.csv", "-o", "contract.yaml", cwd=tmp_path).returncode == 0
    quiet = command("check", "--train", "old.csv", "--contract", "contract.yaml", "--strict", cwd=tmp_path)
    loud = command("check", "--train", "new.csv", "--contract", "contract.yaml", "--strict", cwd=tmp_path)
    assert (quiet.returncode, loud.returncode) == (0, 1) and "contract-broken" in loud.stdout
    assert "class Row" in command("contract", "export", "contract.yaml", "--to", "pydantic", cwd=tmp_path).stdout


def test_pydantic_takes_good_rows_and_refuses_bad_ones() -> None:
    table = people().rename(columns={"city": "home city", "score": "class"})
    held: dict[str, type[pydantic.BaseModel]] = {}
    exec(compile(exported(infer(table), "pydantic"), "row.py", "exec", dont_inherit=True), held)
    row = {k: (None if v != v else v) for k, v in table.to_dict("records")[1].items()}
    assert held["Row"](**row)
    for change in ({"age": -5}, {"home city": "Atlantis"}, {"height": "tall"}):
        with pytest.raises(pydantic.ValidationError):
            held["Row"](**{**row, **change})


def test_pandera_text_is_python_and_expectations_are_json() -> None:
    compile(exported(infer(people()), "pandera"), "schema.py", "exec")
    suite = json.loads(exported(infer(people()), "great-expectations"))
    kinds = {(e["type"], e["kwargs"].get("column")) for e in suite["expectations"]}
    assert ("expect_column_values_to_be_between", "age") in kinds and ("expect_column_values_to_be_in_set", "city") in kinds
    with pytest.raises(UsageError):
        exported(infer(people()), "excel")
