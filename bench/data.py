"""Data: CPU seconds and peak memory of `sabueso check` beside hand-written DuckDB SQL, and beside those of others that are installed.

    python bench/data.py [ROWS] [--big ROWS] [--peers PYTHON]

Profile, drift and quality of ROWS x 30 against ROWS x 30 (20 numeric, 10 categorical of 2 to 2,000 levels, gaps in six), each in a process of its
own. Bars: 1.3 times the floor, 0.9 GB; `--big 20000000` shows that the cost grows with the rows and stays under 4 GB; profiles of ten chunks
merged must equal one scan. `--peers` names the interpreter of an environment with Evidently (it needs pandas below 3).
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

LEVELS = (2, 3, 5, 8, 12, 20, 50, 100, 500, 2000)

MAKE = """
import sys, duckdb
path, rows, seed, moved = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
con = duckdb.connect(); con.execute(f"SELECT setseed({seed / 10})"); con.execute("SET threads = 2"); con.execute("SET preserve_insertion_order = false")
normal = "sqrt(-2 * ln(1 - random())) * cos(6.283185307179586 * random())"
shift = {0: " + 0.3", 10: " + 0.1", 5: " * 1.5"} if moved else {}
gaps = {1, 2, 7}
numbers = [f"CASE WHEN random() < 0.01 THEN NULL ELSE {normal} END AS n{i:02d}" if i in gaps else f"({normal}){shift.get(i, '')} AS n{i:02d}"
           for i in range(20)]
levels = [f"CASE WHEN {int(k in (5, 50, 500))} = 1 AND random() < 0.01 THEN NULL ELSE 'level ' || CAST(floor(random() * {k}) AS INTEGER) END AS c{i}"
          for i, k in enumerate(%r)]
con.execute(f"COPY (SELECT {', '.join(numbers + levels)} FROM range({rows})) TO '{path}' (FORMAT parquet)")
""" % (LEVELS,)  # noqa: UP031

FLOOR = """
import sys, math, duckdb, numpy as np
con = duckdb.connect(); con.execute("SET threads = 2"); con.execute("SET enable_progress_bar = false")
numbers, levels = [f"n{i:02d}" for i in range(20)], [f"c{i}" for i in range(10)]
def profile(path):
    asked = [f"count({c}), min({c}), max({c}), avg({c}), stddev({c}), count_if({c} = 0), approx_quantile({c}, [0.05, 0.25, 0.5, 0.75, 0.95])" for c in numbers]
    asked += [f"count({c}), approx_count_distinct({c}), min(length({c})), max(length({c}))" for c in levels]
    return con.execute(f"SELECT count(*), {', '.join(asked)} FROM '{path}'").fetchone()
for path in sys.argv[1:3]:
    profile(path)
    con.execute(f"SELECT count(*) - count(DISTINCT hash({', '.join(numbers + levels)})) FROM '{path}'").fetchone()
edges = {c: np.quantile(con.execute(f"SELECT {c} FROM '{sys.argv[1]}' LIMIT 20000").fetchnumpy()[c], np.arange(1, 64) / 64).tolist() for c in numbers}
asked = ", ".join([f"histogram({c}, ?)" for c in numbers] + [f"histogram({c})" for c in levels])
counts = [con.execute(f"SELECT {asked} FROM '{path}'", list(edges.values())).fetchone() for path in sys.argv[1:3]]
for name, r, s in zip(numbers + levels, *counts):
    keys = sorted({*r, *s}, key=str)
    a, b = (np.array([x.get(k, 0) for k in keys], float) for x in (r, s))
    chi2 = (((a / a.sum() - b / b.sum()) ** 2) / ((a + b) / (a.sum() + b.sum()) + 1e-12)).sum()
    if math.sqrt(max(0.0, chi2 - len(keys) * (1 / a.sum() + 1 / b.sum()))) > 0.05: print("moved:", name)
shared = con.execute(f"SELECT count(*) FROM (SELECT hash({', '.join(numbers + levels)}) AS h FROM '{sys.argv[2]}') SEMI JOIN "
                     f"(SELECT hash({', '.join(numbers + levels)}) AS h FROM '{sys.argv[1]}') USING (h)").fetchone()
"""

OURS = """
import sys, sabueso
told = sabueso.check_data(sys.argv[1], test=sys.argv[2])
assert not told.own_errors, told.own_errors
print("; ".join(f"{f.check} {f.place.column}" for f in told.findings))
"""

PROFILE = """
import sys
from sabueso.data.held import Held
from sabueso.data.reading import Reader
one = Held.of(Reader([sys.argv[1]]).open(sys.argv[1], "t"), "train")
one.count()
"""

CHUNKS = """
import sys
from sabueso.data.plans import plan_of, whole_of
from sabueso.data.reading import Reader
table = Reader([sys.argv[1]]).open(sys.argv[1], "t")
sample = table.sample()
plans = {n: plan_of(table.kinds[n], sample[n]) for n in table.names}
one, ten = table.profiles(plans), table.profiles(plans, ("n03", [-1.3, -0.85, -0.5, -0.25, 0.0, 0.25, 0.5, 0.85, 1.3]))
keys = ("count", "missing", "nonfinite", "zeros", "min", "max", "counts", "levels", "quantiles")
same = all(getattr(one[n][0], k) == getattr(whole_of(ten[n]), k) for n in plans for k in keys)
print(len(ten["n00"]), "chunks merged equal one scan:", same)
"""

EVIDENTLY = """
import sys, pandas as pd
from evidently import Report
from evidently.presets import DataDriftPreset, DataSummaryPreset
a, b = (pd.read_parquet(p) for p in sys.argv[1:3])
Report([DataDriftPreset(), DataSummaryPreset()]).run(b, a).dict()
"""


def cost(code: str, *arguments: str, python: str = sys.executable) -> tuple[float, float, str]:
    """CPU seconds, peak MB and what was printed, of a process of its own."""
    probe = "\nimport resource as _r; print('PEAK', _r.getrusage(_r.RUSAGE_SELF).ru_maxrss)"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run([python, "-c", code + probe, *arguments], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode:
        return float("nan"), float("nan"), ended.stderr.strip().splitlines()[-1]
    *said, peak = ended.stdout.strip().splitlines()
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, int(peak.split()[1]) / 1024, " ".join(said)


def row(name: str, code: str, *arguments: str, python: str = sys.executable) -> float:
    """One line of the table."""
    seconds, peak, said = cost(code, *arguments, python=python)
    print(f"{name:<44}{seconds:8.1f} CPU s{peak:9.0f} MB   {said[:120]}", flush=True)
    return seconds


def main() -> None:
    """Print the table."""
    given = dict(zip(sys.argv[1:-1], sys.argv[2:]))
    rows = next((int(a) for a in sys.argv[1:2] if a.isdigit()), 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        a, b = (str(Path(folder, f"{name}.parquet")) for name in ("reference", "current"))
        cost(MAKE, a, str(rows), "1", "0")
        cost(MAKE, b, str(rows), "2", "1")
        print(f"{rows:,} x 30 against {rows:,} x 30")
        floor = row("DuckDB SQL by hand", FLOOR, a, b)
        ours = row("sabueso check", OURS, a, b)
        print(f"{'':<44}{ours / floor:8.2f} times the floor (bar 1.3)")
        row("profile of one table", PROFILE, a)
        row("merged", CHUNKS, a)
        if "--peers" in given:
            row("Evidently: drift and summary", EVIDENTLY, a, b, python=given["--peers"])
        if "--big" in given:
            big = str(Path(folder, "big.parquet"))
            cost(MAKE, big, given["--big"], "3", "1")
            row(f"sabueso check, {int(given['--big']):,} rows current", OURS, a, big)


if __name__ == "__main__":
    main()
