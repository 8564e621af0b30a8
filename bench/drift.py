"""Drift: how often columns that have not moved are called, and how often those that have.

    python bench/drift.py [--quick]

Tables of 20 numeric columns (normal, lognormal, uniform, heavy-tailed, whole) and 10 categorical ones of 2 to 2,000 levels, as `sabueso check`
judges them. Bars: of undrifted columns 0.3 % called, of tables 2 %; a move of 0.1 standard deviations found in 55 %, of 0.3 in all, at 1,000 rows;
an ordinary day of a wobbling reference called in 2 % of columns; the same verdicts at 1,000 and 1,001 rows.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from sabueso import drift
from sabueso.data.beside import apart, skipped
from sabueso.data.by_numpy import Arrays
from sabueso.data.held import Held

LEVELS = (2, 3, 5, 8, 12, 20, 50, 100, 500, 2000)
Columns = dict[str, np.ndarray]


def table(rows: int, rng: np.random.Generator, move: float = 0.0) -> Columns:
    """One table; every numeric column moved by so many of its standard deviations."""
    made: Columns = {}
    draw = (
        lambda: rng.normal(size=rows),
        lambda: rng.lognormal(0, 1, rows),
        lambda: rng.random(rows),
        lambda: rng.standard_t(3, rows),
        lambda: rng.poisson(4.0, rows),
    )
    scale = (1.0, 2.16, 0.289, 1.73, 2.0)
    for i in range(20):
        values = draw[i % 5]().astype(float)
        made[f"n{i:02d}"] = np.round(values + move * scale[4]) if i % 5 == 4 and move >= 0.5 else values + move * scale[i % 5]
        if i % 5 == 4 and 0 < move < 0.5:  # a lattice can't be moved by a part of a step: its mean is
            made[f"n{i:02d}"] = rng.poisson(4.0 + move * scale[4], rows).astype(float)
    for i, k in enumerate(LEVELS):
        weights = 1 / np.arange(1, k + 1) ** (0.0 if i % 2 else 1.0)
        made[f"c{i}"] = np.array([f"level {j}" for j in range(k)], object)[rng.choice(k, rows, p=weights / weights.sum())]
    return made


def compared(reference: Columns, current: Columns, time_: str | None = None) -> list[dict]:
    """The columns of two tables with their verdicts."""
    a, b = (Held.of(Arrays(n, c, {k: "text" if v.dtype.kind == "O" else "number" for k, v in c.items()}), n) for n, c in
            (("reference", reference), ("current", current)))  # fmt: skip
    a.count(time=time_, beside=b)
    b.count(like=a)
    return apart(a, b, "period", None, skipped(a, b, time_, None))["columns"]


def called(c: dict) -> bool:
    """Is anything said of the column: drift, missing rate?"""
    return c["verdict"]["answer"] == drift.DRIFTED or c["missing_moved"]


def undrifted(rows: int, pairs: int) -> None:
    """Pairs of one distribution."""
    told = [
        [called(c) for c in compared(table(rows, np.random.default_rng((rows, i, 0))), table(rows, np.random.default_rng((rows, i, 1))))] for i in range(pairs)
    ]
    hit = np.array(told)
    print(f"{rows:>9,} rows, {pairs:>3} pairs   undrifted: numeric {hit[:, :20].mean():6.2%}  categorical {hit[:, 20:].mean():6.2%}  "
          f"all columns {hit.mean():6.2%}  tables {hit.any(1).mean():6.1%}")  # fmt: skip


def moved(rows: int, pairs: int) -> None:
    """Every numeric column moved."""
    for move in (0.1, 0.3):
        hit = np.array([[called(c) for c in compared(table(rows, np.random.default_rng((rows, i, 2))), table(rows, np.random.default_rng((rows, i, 3)), move))]
                        for i in range(pairs)])  # fmt: skip
        told = f"found in {hit[:, :20].mean():6.1%} of numeric, called {hit[:, 20:].mean():6.2%} of categorical"
        print(f"{rows:>9,} rows, {pairs:>3} pairs   moved {move} sd: {told}")


def one_column(rows: int, pairs: int) -> None:
    """One numeric column of thirty moved."""
    for move in (0.1, 0.3):
        found = []
        for i in range(pairs):
            current = table(rows, np.random.default_rng((rows, i, 5)))
            current["n00"] = current["n00"] + move
            found.append(called(compared(table(rows, np.random.default_rng((rows, i, 4))), current)[0]))
        print(f"{rows:>9,} rows, {pairs:>3} pairs   one column moved {move} sd: found in {np.mean(found):6.1%}")


def wobbling(tries: int, days: int = 10, rows: int = 5000) -> None:
    """Every day has its own offset; an ordinary day, and one that moved."""
    ordinary, off = [], []
    for i in range(tries):
        rng = np.random.default_rng((7, i))
        offsets = rng.normal(0, 0.05, (days + 1, 20))

        def day(d: int, more: float = 0.0, rng: np.random.Generator = rng, offsets: np.ndarray = offsets) -> Columns:
            return {"day": np.full(rows, float(d))} | {f"x{j}": rng.normal(offsets[d, j] + more, 1, rows) for j in range(20)}

        past = [day(d) for d in range(days)]
        reference = {k: np.concatenate([p[k] for p in past]) for k in past[0]}
        ordinary += [called(c) for c in compared(reference, day(days), "day")]
        off += [called(c) for c in compared(reference, day(days, 0.3), "day")]
    print(f"wobbling reference, {tries} tries: ordinary day called in {np.mean(ordinary):.2%} of columns, a day moved 0.3 sd in {np.mean(off):.1%}")


def one_row_more(pairs: int) -> None:
    """Verdicts at 1,000 and 1,001 rows."""
    same = total = 0
    for i in range(pairs):
        move = 0.1 * (i % 4)
        a, b = table(1001, np.random.default_rng((11, i, 0))), table(1001, np.random.default_rng((11, i, 1)), move)
        full, less = (compared(*({k: v[:n] for k, v in t.items()} for t in (a, b))) for n in (1001, 1000))
        same += sum(called(x) == called(y) for x, y in zip(full, less))
        total += len(full)
    print(f"verdicts at 1,000 and 1,001 rows: {same} of {total} the same")


def main() -> None:
    """Print the table."""
    quick, began = "--quick" in sys.argv, time.process_time()
    for rows, pairs in ((1000, 40), (10_000, 8), (200_000, 1)) if quick else ((1000, 200), (10_000, 40), (1_000_000, 5)):
        undrifted(rows, pairs)
    moved(1000, 10 if quick else 100)
    one_column(1000, 10 if quick else 100)
    wobbling(5 if quick else 60)
    one_row_more(4 if quick else 40)
    print(f"{time.process_time() - began:.0f} CPU s")


if __name__ == "__main__":
    main()
