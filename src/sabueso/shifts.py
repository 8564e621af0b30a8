"""Shifts: what a stream of `inputs` says of its columns: which rows moved, by which factor, and did it do harm?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import drift
from .events import Fact

# the factor between two customary units of one quantity; the other direction is its inverse
UNITS = {
    18.016: "mg/dL and mmol/L of glucose", 88.42: "mg/dL and µmol/L of creatinine", 38.67: "mg/dL and mmol/L of cholesterol",
    88.57: "mg/dL and mmol/L of triglycerides", 17.1: "mg/dL and µmol/L of bilirubin", 2.8: "mg/dL and mmol/L of urea nitrogen",
    6.006: "mg/dL and mmol/L of urea", 59.48: "mg/dL and µmol/L of urate", 1.609344: "miles and km", 3.28084: "m and feet",
    2.54: "inches and cm", 25.4: "inches and mm", 0.9144: "yards and m", 2.20462: "kg and pounds", 28.3495: "ounces and g",
    3.6: "m/s and km/h", 1.852: "knots and km/h", 1.94384: "m/s and knots", 2.23694: "m/s and mph", 4.184: "kcal and kJ", 3.785: "gallons and litres",
    4.546: "imperial gallons and litres", 6.89476: "psi and kPa", 14.5038: "bar and psi", 7.50062: "kPa and mmHg", 133.322: "mmHg and Pa",
    33.8639: "inHg and hPa", 1.01325: "atm and bar", 10.7639: "m2 and square feet", 4046.86: "acres and m2", 2.47105: "ha and acres",
    57.29578: "degrees and radians", 60.0: "minutes and seconds or hours", 3600.0: "hours and seconds", 24.0: "days and hours",
    1440.0: "days and minutes", 86400.0: "days and seconds", 7.0: "weeks and days", 12.0: "years and months", 365.25: "years and days",
    10.0: "a tenfold prefix", 100.0: "a hundredfold prefix, as in hPa and Pa", 1000.0: "a thousandfold prefix", 1e6: "a millionfold prefix",
    1024.0: "KiB and bytes", 1.35962: "kW and metric horse power", 3.412: "W and BTU/h", 427.0: "kcal and kgm",
}  # fmt: skip
COMMON = (3600.0, 60.0, 25.4, 18.016, 3.6, 3.28084, 2.54, 2.20462, 1.609344)  # pairs that turn up in tables of any trade
TENS = (10.0, 100.0, 1000.0, 1e6)
AFFINE = ((1.8, 32.0, "Celsius and Fahrenheit"), (1.0, 273.15, "Celsius and kelvin"))
CENTRE = slice(3, 18)  # quantiles 15 to 85 of the grid of 21: the ends are at the mercy of single rows


@dataclass(frozen=True, slots=True)
class Rescaled:
    """Later values are earlier ones times `factor` (plus `offset`); `unit` names the pair where it is known."""

    factor: float
    offset: float
    unit: str
    misfit: float  # what is left between both distributions, as a share of the value or of the spread


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows of a column that stand apart: all of them, those after a break, or those beyond the range of the fit."""

    what: str
    count: int
    rows: list[int]
    grid: list[float]
    counts: list[int] | None = None
    start: int = 0  # where the rows begin and end in the stream
    stop: int = 0
    sharp: float = 1.0  # share of the move that the rows next to the break show: a series that wanders shows little of it there


def segments(column: dict[str, Any]) -> Iterator[Segment]:
    """A numeric column's rows that may have moved together, the sharpest first."""
    moved, beyond = column.get("moved"), column.get("beyond")
    if moved:
        yield Segment("moved", moved["count"], moved["rows"], moved["grid"], moved["counts"], moved["from"], moved["to"], moved.get("sharp", 1.0))
    if beyond and (not moved or abs(beyond["count"] - moved["count"]) > 0.1 * moved["count"]):
        yield Segment("beyond", beyond["count"], beyond["rows"], beyond["grid"])
    if "cur_counts" in column:
        yield Segment("all", column["cur"]["count"] - column["cur"]["missing"], [], column["cur"]["grid"], column["cur_counts"])


def moved_by(column: dict[str, Any], segment: Segment) -> drift.Moved:
    """The drift of a segment against the fit."""
    return drift.numbers(column["ref_counts"], segment.counts) if segment.counts else drift.Moved()


def rescaled(reference: list[float], current: list[float], name: str = "") -> Rescaled | None:
    """The change of unit that makes two columns of quantiles agree; None if there is none, or none is needed."""
    r, c = np.array(reference)[CENTRE], np.array(current)[CENTRE]
    if len(r) < 10 or len(c) != len(r):
        return None
    spread = max(float(np.ptp(r)), 1e-12)
    for slope, offset, unit in AFFINE:
        for a, b in ((slope, offset), (1 / slope, -offset / slope)):
            stretched = float(np.ptp(c)) / (a * spread)
            if np.abs(c - (a * r + b)).max() < 0.15 * spread * a and np.abs(c - r).min() > 0.5 * spread and 0.75 < stretched < 1.33:
                return Rescaled(a, b, unit, float(np.abs(c - (a * r + b)).max() / spread))
    if (r == 0).any() or (np.sign(r) != np.sign(r[0])).any() or (np.sign(c) != np.sign(r[0])).any() or (c == 0).any():
        return None
    logs = np.log(np.abs(c / r))
    factor = float(np.exp(np.median(logs)))
    misfit = float(np.ptp(logs))
    exact, unit = unit_near(factor, name)
    # a tight column (pressure, body heat) fits any factor: its own spread must have been stretched too
    stretched = float(np.ptp(c)) / spread / factor
    if abs(math.log(factor)) < math.log(1.5) or misfit > 0.35 or not 0.5 < stretched < 2:
        return None
    return Rescaled(exact, 0.0, unit, misfit)


def unit_of(factor: float, name: str = "", within: float = 0.06) -> str:
    """The pair of units that a factor stands for, either way; empty if it is none that we know."""
    return unit_near(factor, name, within)[1]


def unit_near(factor: float, name: str = "", within: float = 0.06) -> tuple[float, str]:
    """(the exact factor of a pair of units near an estimated one, the pair); the estimate and nothing if there is none that we know.

    A pair that names the column goes first, then powers of ten and common pairs before rare ones. Under 4 the pairs stand so densely that
    only common ones count, and only if they are met closely.
    """
    size = abs(math.log(factor))
    small = size < math.log(4)
    off = {u: abs(size - math.log(u)) for u in (COMMON if small else UNITS)}
    near = [u for u in off if off[u] < math.log(1 + (min(within, 0.03) if small else within))]
    if not near:
        return factor, ""
    rank = {u: off[u] / 0.02 + (u not in TENS) + (u not in TENS and u not in COMMON) - 9 * bool(name and name.lower() in UNITS[u].lower()) for u in near}
    best = min(near, key=lambda u: rank[u])
    return (best if factor > 1 else 1 / best), UNITS[best]


def rare(factor: float, name: str = "") -> bool:
    """Is it the factor of a pair of units that is neither a power of ten nor common, nor named by the column? Such factors lie densely."""
    size = max(factor, 1 / factor)
    return not any(abs(math.log(size / u)) < 1e-6 for u in (*TENS, *COMMON)) and not any(
        name and name.lower() in text.lower() for u, text in UNITS.items() if abs(math.log(size / u)) < 1e-6
    )


def factor_known(now: float, then: float, spread: float, name: str, clear: float) -> str:
    """The pair of units between two means, where the spread has grown by the same factor; empty for none."""
    factor = now / then
    if factor <= 0 or abs(math.log(factor)) < math.log(clear) or abs(math.log(spread / factor)) > math.log(1.35):
        return ""
    return unit_of(factor, name)


@dataclass(frozen=True, slots=True)
class Harm:
    """Error after and before the rows moved, and how it is known."""

    before: float
    after: float
    how: str


def harm(fact: Fact, others: list[Fact], segment: Segment | None = None) -> Harm | None:
    """Is the model worse on these rows? From the truth that the program itself compared with; None where it is not, or nothing is known."""
    truth = fact.get("truth") or {}
    change = truth.get("change")
    if change and change["error_after"] > 1.4 * change["error_before"]:
        return Harm(change["error_before"], change["error_after"], "rows before and after the break")
    known = [o["truth"]["error"] for o in others if o is not fact and o["number"] == fact["number"] and not o.get("training")
             and (o.get("truth") or {}).get("rows", 0) >= 30 and "error" in o["truth"]]  # fmt: skip
    if "error" in truth and truth["rows"] >= 20 and known and truth["error"] > 1.4 * min(known):
        rate, noise = min(known), (min(known) / truth["rows"]) ** 0.5 if truth["kind"] == "label" else 0.0
        if truth["error"] - rate > 4 * noise:
            return Harm(rate, truth["error"], "another part of the rows, same model")
    return None


def outside(fact: Fact, name: str, times: float = 2.0) -> Harm | None:
    """Are a stored model's answers off, and to one side, where a column lies outside of what was learnt, and not within it?

    Mere noise that grows has no side. Of a model fitted in the same run this is no news: a series that wanders is told by its score.
    """
    beyond = (fact.get("truth") or {}).get("beyond") if fact.get("loaded") else None
    if not beyond or beyond["column"] != name or not beyond["outside"] > times * beyond["inside"]:
        return None
    one_sided = abs(beyond["bias_outside"]) > 0.7 * beyond["outside"] and abs(beyond["bias_inside"]) < 0.5 * beyond["inside"]
    return Harm(beyond["inside"], beyond["outside"], f"rows within and outside of the learnt range of {name}") if one_sided else None


def drifted(column: dict[str, Any], least: float = 0.1, sure: float = 1e-4) -> bool:
    """Have all rows together moved? Rows that are merely sorted have a part that stands apart, and as a whole are as at fit."""
    whole = drift.numbers(column["ref_counts"], column["cur_counts"])
    return whole.effect >= least and whole.p < sure


def together(fact: Fact, segment: Segment, overlap: float = 0.6) -> bool:
    """Do the error and the column change at the same rows? Yes where either is known of all rows alone."""
    change = (fact.get("truth") or {}).get("change")
    if not change or segment.what != "moved":
        return True
    both = min(change["to"], segment.stop) - max(change["from"], segment.start)
    return both >= overlap * (max(change["to"], segment.stop) - min(change["from"], segment.start))


def shown(number: float) -> float:
    """A number with four digits."""
    return float(f"{number:.4g}")


@dataclass(frozen=True, slots=True)
class Turned:
    """A cyclic column is `steps` of `period` off: p and effect as it is, p once it is turned back."""

    steps: int
    period: int
    p: float
    effect: float
    p_turned: float


def turned(column: dict[str, Any]) -> Turned | None:
    """The turn that brings a whole-number column with a short cycle back to the fit's; None where it has no cycle or has not moved."""
    ref, cur = dict(map(tuple, column.get("ref_few") or [])), dict(map(tuple, column.get("cur_few") or []))
    values = [*ref, *cur]
    if len(ref) < 5 or not cur or any(v != int(v) for v in values):
        return None
    first, last = int(min(values)), int(max(values))
    period = next((p for p in (7, 12, 24, 60) if last - first < p <= 2 * (last - first + 1) and first in (0, 1)), None)
    if period is None or len(ref) < 0.7 * period:
        return None
    r, s = (np.array([counts.get(float(first + i), 0) for i in range(period)], float) for counts in (ref, cur))
    now = drift.levels(r, s)
    back = [(k, drift.levels(r, np.roll(s, -k))) for k in range(1, period)]
    best = max(back, key=lambda b: b[1].p)
    steps = best[0] if best[0] <= period / 2 else best[0] - period
    return Turned(steps, period, now.p, now.effect, best[1].p)


FORMS = {"logarithm": np.log, "logarithm of one more": np.log1p, "exponential": np.exp, "square": np.square, "square root": np.sqrt}


BASES = {"to the base of e": float(np.e), "to the base of 10": 10.0, "to the base of 2": 2.0}
SIDES = tuple((a, b) for a in BASES for b in BASES if a != b)


def rebased(reference: dict[str, Any], current: dict[str, Any]) -> tuple[str, str] | None:
    """The bases of two columns of logarithms, at fit and as fed: the ends of each, raised to its own base, are numbers with few decimals as measured."""
    r, c = (np.array(side.get("grid") or [])[CENTRE] for side in (reference, current))
    if len(r) != len(c) or not len(r) or np.ptp(r) <= 0 or np.ptp(c) <= 0 or any(side["max"] == round(side["max"]) for side in (reference, current)):
        return None
    for learnt, fed in SIDES:
        factor = float(np.log(BASES[learnt]) / np.log(BASES[fed]))
        close = abs(float(np.median(c)) / (factor * float(np.median(r)) or 1.0) - 1) < 0.1
        if close and all(measured(BASES[base] ** min(side[end], 40.0)) for base, side in ((learnt, reference), (fed, current)) for end in ("min", "max")):
            return learnt, fed
    return None


def measured(x: float) -> bool:
    """Has it so few decimals as what was written down has, and not as what was reckoned?"""
    if not 1e-3 < x < 1e7:
        return False
    scale = 10.0 ** max(0, min(3, 4 - math.ceil(math.log10(x) + 1e-9)))  # four figures that count
    return abs(x * scale - round(x * scale)) < 1e-4 * max(1.0, 0.01 * x * scale) and round(x * scale) > 0


def reshaped(reference: list[float], current: list[float]) -> str | None:
    """The form that takes one column's quantiles to the other's; None if none does, or none is needed."""
    if len(reference) < 21 or len(current) < 21:
        return None
    r, c = np.array(reference)[CENTRE], np.array(current)[CENTRE]
    spread = float(np.ptp(c))
    if spread <= 0 or np.ptp(r) <= 0 or not (c.min() > r.max() or c.max() < r.min()) or len(np.unique(r)) < 8:
        return None
    with np.errstate(all="ignore"):
        for form, of in FORMS.items():
            made = of(r)
            if np.isfinite(made).all() and np.abs(made - c).max() < 0.2 * spread:
                return form
    return None
