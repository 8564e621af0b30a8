"""Data checked without a program: what tables in every form show, in memory and by DuckDB, and that healthy ones are quiet."""

from __future__ import annotations

import datetime
import decimal
import io
import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from programs import sabueso as command

import sabueso
from sabueso import drift
from sabueso.commands.data import Progress
from sabueso.data import reading
from sabueso.data.plans import plan_of, whole_of
from sabueso.data.reading import Reader
from sabueso.errors import UsageError


def customers(rows: int, seed: int = 0, start: int = 0, shift: float = 0.0) -> pd.DataFrame:
    """A healthy table: a key, numbers, levels, a time, gaps, a label that two columns tell."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({
        "id": np.arange(start, start + rows), "age": rng.integers(18, 90, rows), "income": rng.lognormal(10, 0.5, rows),
        "temperature": rng.normal(37 + shift, 0.6, rows), "city": rng.choice(["Lima", "Oslo", "Rome", "Pune"], rows, p=[0.4, 0.3, 0.2, 0.1]),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.sort(rng.integers(0, 20 * 86400, rows)) + start, unit="s"),
    })  # fmt: skip
    table.loc[rng.random(rows) < 0.02, "income"] = np.nan
    table["churned"] = (rng.random(rows) < 1 / (1 + np.exp(-2 * (table.temperature - 37)))).astype(int)
    return table


def found(diagnosis: Any) -> dict[str, Any]:
    """Warnings and errors by check; none of ours may have failed."""
    assert not diagnosis.own_errors, diagnosis.own_errors
    return {f.check: f for f in diagnosis.culprits}


@pytest.fixture(params=["numpy", "duckdb"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both engines: by the size from which DuckDB counts."""
    monkeypatch.setattr(reading, "CELLS", 10**9 if request.param == "numpy" else 0)
    return str(request.param)


def test_healthy_tables_are_quiet(engine: str) -> None:
    told = sabueso.check_data(customers(4000), test=customers(1500, 1, 90_000), target="churned")
    assert not told.culprits and not told.findings and len(told.clean) > 15


def test_every_fault_of_a_pair_is_told(engine: str) -> None:
    train, test = customers(4000), customers(2000, 1, 90_000)
    test["income"] /= 1000
    test.loc[test.index[:300], "city"] = "lima"
    test["temperature"] += 0.3
    test["age"] = test["age"].where(np.arange(2000) % 3 > 0)
    test = pd.concat([test.iloc[:1900], train.iloc[100:200]], ignore_index=True)
    told = found(sabueso.check_data(train, test=test, target="churned"))
    assert told.keys() == {"unit-change", "unseen-category", "covariate-drift", "missing-rate-drift", "split-overlap"}
    assert told["unit-change"].place.column == "income" and told["covariate-drift"].place.column == "temperature"
    assert told["split-overlap"].place.row == list(range(1900, 1950)) and told["split-overlap"].severity == "error"
    assert told["missing-rate-drift"].place.row[:3] == [0, 3, 6] and told["unseen-category"].place.row == list(range(50))


def test_leakage_is_weighed(engine: str) -> None:
    """A small model's score with what leaks and without it: a column, rows that training holds, rows that repeat."""
    train, test = customers(4000), customers(2000, 1, 90_000)
    both = pd.concat([test.iloc[:1500], train.iloc[100:600]], ignore_index=True)
    told = found(sabueso.check_data(train, test=both, target="churned"))["split-overlap"].verified
    assert told["before"] > told["after"] + 0.05 > 0.5
    again = pd.concat([train, train.iloc[:900]], ignore_index=True)
    told = found(sabueso.check_data(again, target="churned"))["duplicate-rows"].verified
    assert told["before"] > told["after"] + 0.05 > 0.5
    for table in (train, test):
        table["fee"] = np.where(table.churned == 1, table.income / 10, np.nan)
    for more in ({"test": test}, {}):
        leaks = found(sabueso.check_data(train, target="churned", **more))["target-leakage"]
        assert leaks.verified["before"] > 0.98 and 0.6 < leaks.verified["after"] < 0.9 and len(leaks.evidence) <= 5
        assert leaks.evidence[-1][1:] == pytest.approx((leaks.verified["before"], leaks.verified["after"]), abs=1e-3)


def test_groups_and_times_on_both_sides(engine: str) -> None:
    train, test = customers(3000), customers(900, 1, 90_000)
    train["patient"], test["patient"] = np.arange(3000) // 5, 10_000 + np.arange(900) // 5
    test.loc[test.index[:40], "patient"] = 7
    told = found(sabueso.check_data(train, test=test, target="churned", group="patient", time="day"))
    assert told["group-leakage"].place.row == list(range(40)) and told["group-leakage"].place.column == "patient"
    assert told["time-leakage"].place.column == "day"
    later = test.assign(day=test.day + pd.Timedelta(days=40), patient=20_000 + np.arange(900))
    assert not found(sabueso.check_data(train, test=later, target="churned", group="patient", time="day"))


def test_label_drift_concept_drift_and_types() -> None:
    rng = np.random.default_rng(0)
    reference = pd.DataFrame({"x": rng.normal(size=4000), "z": rng.normal(size=4000), "code": rng.integers(0, 5, 4000)})
    current = pd.DataFrame({"x": rng.normal(size=4000), "z": rng.normal(size=4000), "code": rng.integers(0, 5, 4000).astype(str)})
    reference["y"], current["y"] = 2 * reference.x + 0.1 * rng.normal(size=4000), -2 * current.x + 0.1 * rng.normal(size=4000)
    told = found(sabueso.check_data(reference=reference, current=current, target="y"))
    assert told.keys() == {"concept-drift", "dtype-changed"} and told["concept-drift"].place.column == "x"
    reference["y"], current["y"] = rng.normal(size=4000), rng.normal(0.5, 1, 4000)
    assert "label-drift" in found(sabueso.check_data(reference=reference, current=current, target="y"))


def test_faults_of_one_table(engine: str) -> None:
    table = customers(2000)
    table["price"] = [f"{v:.2f}" if i % 100 else "n/a" for i, v in enumerate(np.linspace(1, 300, 2000))]
    table["pressure"] = np.where(np.arange(2000) % 40 == 3, -999.0, np.random.default_rng(5).normal(120, 10, 2000))
    table["outcome_date"] = np.where(table.churned == 1, 5.0, np.nan)
    table = pd.concat([table, table.iloc[:60]], ignore_index=True)
    told = found(sabueso.check_data(table, target="churned"))
    assert told.keys() == {"numeric-as-text", "missing-values", "target-leakage", "duplicate-rows"}
    assert told["missing-values"].place.row[:3] == [3, 43, 83] and told["numeric-as-text"].place.row[:2] == [0, 100]
    assert told["duplicate-rows"].place.row == list(range(2000, 2050)) and told["target-leakage"].place.column == "outcome_date"


def test_labels_that_equal_rows_contradict() -> None:
    table = customers(1500).drop(columns=["id"])
    twice = table.iloc[:200].assign(churned=1 - table.churned.iloc[:200])
    told = found(sabueso.check_data(pd.concat([table, twice], ignore_index=True), target="churned"))
    assert told.keys() == {"label-conflict"} and told["label-conflict"].place.column == "churned"


def test_a_unit_that_changes_within_a_table() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"length": rng.uniform(5, 90, 3000), "width": rng.uniform(1, 9, 3000)})
    table["weight"] = 3 * table.length + 5 * table.width + rng.normal(0, 2, 3000)
    table.loc[2000:, "length"] *= 25.4
    told = found(sabueso.check_data(table, target="weight"))
    assert told.keys() == {"unit-change"} and told["unit-change"].place.row[0] in range(1990, 2011)


def test_columns_that_are_not_there_and_a_column_that_went_constant() -> None:
    train, test = customers(2000), customers(800, 1, 90_000).drop(columns=["age"])
    test["temperature"] = 37.0
    told = found(sabueso.check_data(train, test=test, target="churned"))
    assert told["shape-mismatch"].place.column == "age" and told["constant-column"].place.column == "temperature"
    assert "covariate-drift" not in told


def test_days_that_wobble_are_the_yardstick() -> None:
    rng = np.random.default_rng(3)

    def days(count: int, move: float = 0.0) -> pd.DataFrame:
        day = np.repeat(np.arange(count), 3000)
        values = {f"x{i}": rng.normal(rng.normal(0, 0.06, count)[day] + move) for i in range(5)}
        return pd.DataFrame({"day": pd.Timestamp("2024-03-01") + pd.to_timedelta(day, unit="D"), **values})

    past = days(12)
    assert not found(sabueso.check_data(reference=past, current=days(1), time="day"))
    assert "covariate-drift" in found(sabueso.check_data(reference=past, current=days(1, 0.4), time="day"))


def test_breaks_along_the_rows_need_no_label() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"x{i}": rng.gamma(9, 11, 4000) for i in range(4)})
    table.loc[2500:, "x0"] *= 25.4
    table.loc[3000:, "x1"] = np.nan
    table.loc[3500:, "x2"] = 99.5
    told = {f.check: (f.place.column, f.place.row[0]) for f in sabueso.check_data(table).culprits}
    assert told.pop("unit-change")[1] in range(2495, 2506)  # one row more or less lies between both distributions
    assert told == {"missing-values": ("x1", 3000), "constant-column": ("x2", 3500)}
    trend = pd.DataFrame({"sorted": np.sort(rng.gamma(9, 11, 3000)), "trend": rng.normal(50, 5, 3000) + np.linspace(0, 60, 3000)})
    assert not found(sabueso.check_data(trend))


def test_the_rows_that_a_move_comes_from() -> None:
    rng = np.random.default_rng(0)

    def table(rows: int) -> pd.DataFrame:
        return pd.DataFrame({"level": rng.gamma(9, 11, rows), "other": rng.normal(size=rows), "site": rng.choice(["A", "B", "C"], rows)})

    past, now, late = table(4000), table(2000), table(2000)
    now.loc[now.site == "B", "level"] *= 1.6
    late.loc[1200:, "level"] += 60
    by_site, by_row = (found(sabueso.check_data(reference=past, current=t))["covariate-drift"] for t in (now, late))
    assert "site = 'B'" in by_site.says and by_site.place.row == np.flatnonzero(now.site == "B")[:50].tolist()
    assert "1200 to 1999" in by_row.says and by_row.place.row[0] == 1200


def test_a_time_in_another_zone_and_too_few_rows() -> None:
    def table(rows: int, off: int, seed: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        hours = (np.clip(rng.normal(14, 3, rows), 0, 23.9) + off) % 24 + 24 * rng.integers(0, 30, rows)
        return pd.DataFrame({"when": pd.Timestamp("2024-01-01") + pd.to_timedelta(hours, unit="h"), "x": rng.normal(size=rows)})

    told = found(sabueso.check_data(reference=table(3000, 0, 1), current=table(2000, -5, 2)))
    assert told.keys() == {"unit-change"} and "-5 hours" in told["unit-change"].says
    few = sabueso.check_data(reference=table(3000, 0, 1), current=table(60, 0, 3))
    assert not few.culprits and [f.severity for f in few.findings] == ["note"] and "Too few rows" in few.findings[0].says


@pytest.mark.parametrize("form", ["pandas", "polars", "arrow", "parquet", "csv", "sqlite", "dict"])
def test_every_form_of_a_table(form: str, tmp_path: Path) -> None:
    train, test = customers(1500), customers(700, 1, 90_000)
    test["temperature"] += 0.5
    made = [_as(form, t.drop(columns=["day"]), tmp_path / f"t{i}") for i, t in enumerate((train, test))]
    told = found(sabueso.check_data(made[0], test=made[1], target="churned"))
    assert "covariate-drift" in told and told["covariate-drift"].place.column == "temperature" and told.keys() <= {"covariate-drift", "label-drift"}


def _as(form: str, table: pd.DataFrame, path: Path) -> Any:
    if form == "pandas":
        return table
    if form in ("polars", "arrow"):
        held = pa.Table.from_pandas(table, preserve_index=False)
        return pl.from_arrow(held) if form == "polars" else held
    if form == "dict":
        return {c: table[c].to_numpy() for c in table}
    if form == "parquet":
        table.to_parquet(path.with_suffix(".parquet"), index=False)
        return path.with_suffix(".parquet")
    if form == "csv":
        table.to_csv(path.with_suffix(".csv"), index=False)
        return str(path.with_suffix(".csv"))
    with sqlite3.connect(path.with_suffix(".db")) as held:
        table.to_sql("customers", held, index=False)
    return f"{path.with_suffix('.db')}::SELECT * FROM customers"


def odd_frame() -> pd.DataFrame:
    dates = np.array(["1500-01-01", "2024-01-01"] * 50, dtype="datetime64[s]")
    return pd.DataFrame({
        "decimal": [decimal.Decimal("1.5"), decimal.Decimal("2.5")] * 50, "old": dates, "nothing": [None] * 100, "nan": [np.nan] * 100,
        "list": [[1, 2], None] * 50, "mixed": [1, "a"] * 50, "flag": [True, False] * 50, "level": pd.Categorical(["u", "v"] * 50),
        "whole": pd.array([1, None] * 50, dtype="Int64"), "endless": [np.inf, 1.0] * 50, "zone": pd.to_datetime(dates.astype("M8[s]")).tz_localize("UTC"),
        "date": [datetime.date(1600, 1, 1), None] * 50, "huge": [1e308, -1e308] * 50, 7: range(100),
    })  # fmt: skip


def test_odd_columns_are_no_error(engine: str) -> None:
    frame = odd_frame()
    frame.columns = [*frame.columns[:-1], "flag"]  # a name twice
    told = sabueso.check_data(frame, test=odd_frame())
    assert not told.own_errors


@pytest.mark.parametrize("table", [np.zeros((50, 3)), np.arange(40), {"a": np.arange(5)}, pl.DataFrame({"l": [[1], [2]] * 30, "s": [{"x": 1}] * 60})])
def test_odd_tables_are_no_error(table: Any) -> None:
    assert not sabueso.check_data(table).own_errors


@pytest.mark.parametrize("table", [pd.DataFrame(), pd.DataFrame({"a": []}), 7, "no-such-file.csv", [], pl.DataFrame()])
def test_what_is_no_table_is_one_line(table: Any) -> None:
    with pytest.raises(UsageError) as raised:
        sabueso.check_data(table)
    assert "\n" not in str(raised.value)


def test_columns_that_are_asked_for_must_be_there() -> None:
    with pytest.raises(UsageError, match="no column 'churn'"):
        sabueso.check_data(customers(50), target="churn")


BAD = {
    "ragged.csv": (b"a,b,c\n" + b"1,2,x\n" * 80 + b"1,2,3,4,5\n" + b"3,4,y\n" * 40, "rows-lost"),
    "encodings.csv": (b"a,b\n" + b"1,caf\xc3\xa9\n" * 80 + b"2,caf\xe9\n", "rows-lost"),
    "utf16.csv": ("a,b\n1,2\n".encode("utf-16"), None), "header.csv": (b"a,b\n", None), "empty.csv": (b"", None),
    "truncated.parquet": (b"PAR1" + b"\0" * 100, None), "text.parquet": (b"hello", None), "broken.json": (b'{"a": [1, 2', None), "odd.xyz": (b"x", None),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_files_give_findings_or_one_line(name: str, tmp_path: Path) -> None:
    text, check = BAD[name]
    (tmp_path / name).write_bytes(text)
    if check:
        assert check in found(sabueso.check_data(tmp_path / name))
    else:
        with pytest.raises(UsageError) as raised:
            sabueso.check_data(tmp_path / name)
        assert "\n" not in str(raised.value) and name in str(raised.value)


def test_thousands_of_columns() -> None:
    wide = np.random.default_rng(0).normal(size=(200, 1500))
    assert not found(sabueso.check_data(wide))


def test_without_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "find_spec", lambda name: None)
    customers(300).to_csv(tmp_path / "t.csv", index=False)
    assert sabueso.check_data(tmp_path / "t.csv").run["tables"][0]["rows"] == 300
    customers(300).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(UsageError, match=r"pip install 'sabueso\[data\]'"):
        sabueso.check_data(tmp_path / "t.parquet")


# ---- the engines


def test_both_engines_count_alike_and_merge_exactly(tmp_path: Path) -> None:
    table = customers(5000)
    table.loc[3, "temperature"], table.loc[9, "temperature"] = np.inf, np.nan
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), path)
    scan, arrays = Reader([path]).open(path, "t"), Reader([table]).open(table, "t")
    assert (scan.engine, arrays.engine) == ("duckdb", "numpy")
    sample = arrays.sample()
    plans = {n: plan_of(arrays.kinds[n], sample[n]) for n in arrays.names}
    whole, other = arrays.profiles(plans), scan.profiles(plans)
    chunked = [t.profiles(plans, ("age", [30.0, 45.0, 60.0, 75.0])) for t in (arrays, scan)]
    for name in plans:
        for key in ("count", "missing", "nonfinite", "zeros", "whole", "min", "max", "counts", "levels", "quantiles", "distinct"):
            values = [getattr(p, key) for p in (whole[name][0], other[name][0], whole_of(chunked[0][name]), whole_of(chunked[1][name]))]
            assert all(v == values[0] for v in values), (name, key)
        means = [p.mean for p in (whole[name][0], other[name][0], whole_of(chunked[1][name]))]
        assert means[0] is None or np.allclose(means, means[0], rtol=1e-12)


def test_the_verdict_does_not_turn_on_a_row_more() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=1001), rng.normal(0.12, 1, 1001)
    told = []
    for n in (1000, 1001):
        inner = drift.edges(a[:n])
        told.append(drift.verdicts([(drift.numbers(drift.count(a[:n], inner), drift.count(b[:n], inner)), n, n)])[0])
    assert told[0].answer == told[1].answer and abs(told[0].effect - told[1].effect) < 0.02


def test_too_few_rows_are_an_answer_of_their_own() -> None:
    few = drift.verdicts([(drift.Moved(0.5, 0.0, [0.0]), 40, 40)])[0]
    many = drift.verdicts([(drift.Moved(0.5, 0.0, [0.0]), 4000, 4000)])[0]
    assert few.answer == drift.TOO_FEW and many.answer == drift.SAME and few.visible > 0.2 > many.visible


# ---- the command


def test_command(tmp_path: Path) -> None:
    customers(800).to_parquet(tmp_path / "train.parquet")
    customers(400, 1, 9000).assign(income=1.0).to_parquet(tmp_path / "test.parquet")
    ended = command("check", "--train", "train.parquet", "--test", "test.parquet", "--target", "churned", "--json", "out.json", cwd=tmp_path)
    told = json.loads((tmp_path / "out.json").read_text())
    assert ended.returncode == 0 and "test.parquet" in ended.stdout and not ended.stderr
    assert told["culprits"][0]["check"] == "constant-column" and told["culprits"][0]["place"]["file"] == "test.parquet"
    assert told["run"]["tables"][1] == {"role": "test", "table": "test.parquet", "rows": 400, "columns": 7}
    missing = command("check", "--train", "nothing.parquet", cwd=tmp_path)
    assert missing.returncode == 2 and missing.stderr.count("\n") == 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_only_on_a_terminal_and_only_of_long_work() -> None:
    now = [0.0]
    for out, seen in ((Terminal(), True), (io.StringIO(), False)):
        live = Progress(out, lambda: now[0])
        live.say("reading train")
        assert not out.getvalue()
        now[0] += 5
        live.say("counting train")
        live.end()
        assert ("counting train" in out.getvalue()) is seen and (not seen or out.getvalue().endswith("\r\x1b[2K"))


MAKERS: list[Any] = [
    lambda g, n: g.normal(size=n), lambda g, n: g.integers(-5, 5, n), lambda g, n: np.full(n, np.nan), lambda g, n: [None] * n,
    lambda g, n: g.choice(np.array(["a", "b", None, ""], object), n), lambda g, n: [f"id{i}" for i in range(n)], lambda g, n: g.random(n) < 0.5,
    lambda g, n: pd.Timestamp("2020-01-01") + pd.to_timedelta(g.integers(0, 10**6, n), unit="s"), lambda g, n: [[1] * (i % 3) for i in range(n)],
    lambda g, n: g.choice(np.array([1, "x", None, 2.5], object), n), lambda g, n: g.choice([np.inf, -np.inf, 1.0, np.nan], n),
    lambda g, n: [decimal.Decimal(f"{x:.2f}") if x > 0.2 else None for x in g.random(n)], lambda g, n: g.normal(size=n) * 1e300,
    lambda g, n: [f"{x:.2f} kg" if x > 0.1 else "n/a" for x in g.random(n)], lambda g, n: g.integers(0, 2**63 - 1, n), lambda g, n: np.full(n, 7),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_random_tables_are_no_error(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(reading, "CELLS", 0 if seed % 2 else 10**9)
    kinds = rng.integers(0, len(MAKERS), 5)
    train, test = (pd.DataFrame({f"c{j}": MAKERS[k](rng, n) for j, k in enumerate(kinds)}) for n in (int(rng.choice([2, 120, 700])), int(rng.choice([1, 60]))))
    target, time, group = (str(c) if rng.random() < 0.6 else None for c in rng.choice(train.columns, 3))
    assert not sabueso.check_data(train, test=test, target=target, time=time, group=group).own_errors
