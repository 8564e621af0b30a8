"""Drift: has a column moved, by how much, and is it more than anyone would act on? On mergeable counts alone.

A column is counted in bins whose edges come from the reference (numbers: quantiles) or by level. For counts r, s of n and m rows
(N = n + m) orthonormal polynomials h1..h4 of the pooled mid-rank give d_j = mean(h_j | current) - mean(h_j | reference): location, spread,
skew and tails, in standard deviations. The effect is what is left of them when the noise is taken off, on one scale for numbers and levels
(for a shift of a normal column 0.98 times Cohen's d); p asks "more than `least`?" and not "any at all?", so that a million rows do not
turn 0.005 standard deviations into an alarm. Of a table's columns together (`verdicts`) one is called where chance, all tests considered, does not
explain it and it is surely more than the least effect. Measured on 1,000 to 1,000,000 rows: bench/drift.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

LEAST = 0.02  # standard deviations: nobody acts on less
BINS = 64
LOCATION, SHAPE, REST = 0.5, 0.3, 0.2  # weights: most moves are of location; of the rest most lie in spread, skew and tails
SURE = 0.05  # p of no more than the least effect, of a column that chance does not explain


@dataclass(frozen=True, slots=True)
class Moved:
    """`p` of "no more than the least effect", the `effect` in standard deviations, and its parts (location, spread, skew, tails).

    `chance` is the p of no move at all; where the reference's own wobble is the least effect, of no more than that. `square` is the square of
    the effect with the noise taken off, which may be less than nothing: its mean over many is right.
    """

    p: float = 1.0
    effect: float = 0.0
    parts: list[float] = field(default_factory=list)
    chance: float = 1.0
    square: float = 0.0


def edges(values: np.ndarray, bins: int = BINS) -> np.ndarray:
    """Inner edges at the quantiles of the finite values."""
    finite = values[np.isfinite(values)]
    return np.unique(np.quantile(finite, np.arange(1, bins) / bins)) if len(finite) else np.zeros(0)


def count(values: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """How many finite values lie in each bin."""
    finite = values[np.isfinite(values)]
    return np.bincount(np.searchsorted(inner, finite, side="left"), minlength=len(inner) + 1)


def numbers(reference: Sequence[float], current: Sequence[float], least: float = LEAST) -> Moved:
    """Compare the counts of a numeric column on common bins."""
    parts, chi2, df, n, m = _components(np.asarray(reference, float), np.asarray(current, float))
    if df == 0:
        return Moved()
    weight = n * m / (n + m)
    squares = parts * parts * weight

    def beyond(size: float) -> float:
        noncentral = size**2 * weight
        ps = [noncentral_chi2(squares[0], 1, noncentral), noncentral_chi2(squares.sum(), len(parts), noncentral)]
        return together([*ps, noncentral_chi2(chi2, df, noncentral)] if df > len(parts) else ps, (LOCATION, SHAPE, REST))

    square = float(squares.sum() - len(parts)) / weight
    return Moved(beyond(least), math.sqrt(max(0.0, square)), [float(d) for d in parts], beyond(noise(least)), square)


def effect(reference: Sequence[float], current: Sequence[float], least: float = 0.0) -> float:
    """The effect of `numbers` alone: no tail of a distribution is worked out for it. 0 where it is surely under `least`."""
    r, s = np.asarray(reference, float), np.asarray(current, float)
    n, m = r.sum(), s.sum()
    if least and n and m and (both := r + s).all() and len(r) > 4:  # the parts' squares together are no more than Pearson's chi-square (Bessel)
        chi2 = float((np.square(r - both * (n / (n + m))) / both).sum()) * (n + m) ** 2 / (n * m)
        if chi2 - 4 < least**2 * n * m / (n + m):
            return 0.0
    parts, _, df, n, m = _components(r, s)
    weight = n * m / (n + m) if df else 1.0
    return math.sqrt(max(0.0, float((parts * parts * weight).sum() - len(parts)) / weight)) if df else 0.0


def noise(least: float) -> float:
    """What of the least effect is noise: the wobble that was learnt, none of what is merely too little to act on."""
    return least if least > LEAST else 0.0


def levels(reference: Sequence[float], current: Sequence[float], least: float = LEAST) -> Moved:
    """Compare the counts by level, in one order of levels; rare ones are pooled, unseen ones held against the Good-Turing expectation."""
    r, s = np.asarray(reference, float), np.asarray(current, float)
    n, m = r.sum(), s.sum()
    if n == 0 or m == 0:
        return Moved()
    expected = (r + s) * min(n, m) / (n + m)
    big, small = expected >= 5, expected < 5
    rs, ss = r[big], s[big]
    if expected[small].sum() >= 5:
        rs, ss = np.append(rs, r[small].sum()), np.append(ss, s[small].sum())
    if len(rs) < 2:
        return Moved()
    parts_n, parts_m = rs.sum(), ss.sum()
    share = (rs + ss) / (rs + ss).sum()
    chi2 = float(((rs - parts_n * share) ** 2 / (parts_n * share) + (ss - parts_m * share) ** 2 / (parts_m * share)).sum())
    df, weight = len(rs) - 1, parts_n * parts_m / (parts_n + parts_m)
    new = unseen(r, s, least)
    p, chance = (together([noncentral_chi2(chi2, df, size**2 * weight), new]) for size in (least, noise(least)))
    square = (chi2 - df) / weight
    return Moved(p, math.sqrt(max(0.0, square)), chance=chance, square=square)


def unseen(reference: np.ndarray, current: np.ndarray, least: float = LEAST) -> float:
    """p of so many rows with levels that the reference lacks, at most (Chernoff's bound, so that no call rests on an approximation).

    Were both parts drawn alike, a level that both together hold c times would lie in the current one alone with probability (m / N)^c. What
    the least effect is of share `least` squared by half is left out of the count.
    """
    n, m = float(reference.sum()), float(current.sum())
    new = float(current[reference == 0].sum()) - 0.5 * least**2 * m
    if new <= 2 or n == 0:
        return 1.0
    sizes, levels = np.unique((reference + current)[reference + current > 0], return_counts=True)
    chance = (m / (n + m)) ** sizes
    if new <= float((levels * chance * sizes).sum()):
        return 1.0
    kept = (chance > 1e-300) & (sizes <= new + 0.5 * least**2 * m)
    sizes, levels, log_chance = sizes[kept], levels[kept], np.log(chance[kept])
    t = np.linspace(0.0, math.log((n + m) / m) + 40 / max(new, 1.0), 400)[:, None]
    bound = (levels * np.logaddexp(np.log1p(-np.exp(log_chance)), t * sizes + log_chance)).sum(axis=1) - t[:, 0] * new
    return float(min(1.0, math.exp(max(bound.min(), -690.0))))


def share(a: float, n: float, b: float, m: float, least: float = LEAST) -> float:
    """p of two shares a of n and b of m being equal (up to the least effect): missing values, base rates."""
    both, rows = a + b, n + m
    if not n or not m or both == 0 or both == rows:
        return 1.0
    w = both / rows
    chi2 = (b / m - a / n) ** 2 / (w * (1 - w)) * n * m / rows
    return noncentral_chi2(chi2, 1, least**2 * n * m / rows)


DRIFTED, SAME, TOO_FEW = "drifted", "same", "too few rows to tell"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer on one column beside others: what was found, the interval of the effect, and the effect that these rows would have shown."""

    answer: str
    p: float
    effect: float
    low: float
    high: float
    visible: float


def verdicts(found: Sequence[tuple[Moved, float, float]], q: float = 0.02, care: float = 0.2, least: float = LEAST) -> list[Verdict]:
    """Decide on the columns of one table together: (what moved, rows of the reference, rows now) each.

    A column is drifted where a false discovery rate of q lets it through and it is surely beyond the least effect; one that is not, in so few
    rows that a move of `care` standard deviations would more often be missed than seen, is not called the same.
    """
    yes = [y and m.p < SURE for y, (m, _, _) in zip(rejected([m.chance for m, _, _ in found], q), found)]
    made = []
    for (moved, n, m), drifted in zip(found, yes):
        weight = n * m / (n + m) if n and m else 0.0
        visible = least + normal_quantile(q / max(len(found), 1)) / math.sqrt(weight) if weight else math.inf
        answer = DRIFTED if drifted else SAME if visible <= care else TOO_FEW
        made.append(Verdict(answer, moved.p, moved.effect, *interval(moved, weight), visible))
    return made


def interval(moved: Moved, weight: float) -> tuple[float, float]:
    """95 per cent of the effect: from the variance 2 (df + 2 lambda) of a noncentral chi-square, of which lambda is the effect's square by weight."""
    if not weight:
        return 0.0, math.inf
    df, centre = max(len(moved.parts), 1), moved.effect**2 * weight
    wide = 1.96 * math.sqrt(2 * (df + 2 * centre))
    return math.sqrt(max(0.0, centre - wide) / weight), math.sqrt((centre + wide) / weight)


def floor(chunks: Sequence[Sequence[float]], compare: Any = None, least: float = LEAST) -> float:
    """The least effect that is more than the reference's own wobble: twice the root mean square of each chunk's effect against the rest."""
    whole = np.sum(np.asarray(chunks, float), axis=0)
    held = [np.asarray(c, float) for c in chunks if np.sum(c) >= 5]
    if len(held) < 4:
        return least
    squares = [(compare or numbers)(whole - c, c).square for c in held]
    return max(least, 2 * math.sqrt(max(0.0, float(np.mean(squares)))))


def normal_quantile(p: float) -> float:
    """The value that a standard normal exceeds with probability p."""
    return NormalDist().inv_cdf(1 - p)


def together(ps: Sequence[float], weights: Sequence[float] = ()) -> float:
    """Several p of one question as one (Cauchy combination: they need not be independent), the likelier ones weighing more."""
    clipped = np.clip(np.asarray(ps, float), 1e-300, 1 - 1e-12)
    t = np.average(np.where(clipped < 1e-8, 1 / (np.pi * clipped), np.tan((0.5 - clipped) * np.pi)), weights=weights[: len(clipped)] or None)
    return float(1 / (np.pi * t)) if t > 1e8 else float(0.5 - np.arctan(t) / np.pi)


def rejected(ps: Sequence[float], q: float = 0.01) -> list[bool]:
    """Which of many questions are answered yes at a false discovery rate of q (Benjamini, Krieger and Yekutieli 2006: in two stages)."""
    p = np.asarray(ps, float)
    order, first = np.argsort(p), q / (1 + q)
    many = _first(p[order], first)
    many = _first(p[order], first * len(p) / max(len(p) - many, 1)) if many else 0
    yes = np.zeros(len(p), bool)
    yes[order[:many]] = True
    return yes.tolist()


def _first(ordered: np.ndarray, q: float) -> int:
    """How many of the smallest p go through (Benjamini and Hochberg 1995)."""
    below = np.flatnonzero(ordered <= q * (np.arange(len(ordered)) + 1) / max(len(ordered), 1))
    return int(below[-1]) + 1 if len(below) else 0


def noncentral_chi2(x: float, df: int, noncentral: float) -> float:
    """Upper tail of the noncentral chi-square: a Poisson mixture of central ones, each from the one before."""
    if x <= 0:
        return 1.0
    half, rate = x / 2, noncentral / 2
    if rate > 5e4:  # so far out the distribution is normal to many digits
        return normal_tail((x - df - noncentral) / math.sqrt(2 * (df + 2 * noncentral)))
    first = 0.5 if df % 2 else 1.0
    start = int(df / 2 - first)
    most = int(rate + 12 * math.sqrt(rate + 1) + 12)
    a = first + np.arange(start + most + 1)
    log_gamma = math.lgamma(first + 1) + np.concatenate([[0.0], np.cumsum(np.log(a[1:]))])
    head = math.erfc(math.sqrt(half)) if df % 2 else math.exp(-half) if half < 700 else 0.0
    steps = np.exp(np.clip(a * math.log(half) - half - log_gamma, -745, None))
    tails = head + np.concatenate([[0.0], np.cumsum(steps)[:-1]])
    j = np.arange(most + 1)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])
    poisson = np.exp(j * math.log(rate) - rate - log_factorial) if rate > 0 else (j == 0).astype(float)
    return float(min(1.0, max((poisson * tails[start:]).sum(), 1e-300)))


def normal_tail(z: float) -> float:
    """Upper tail of the standard normal."""
    return 0.5 * math.erfc(z / math.sqrt(2))


def _components(r: np.ndarray, s: np.ndarray, most: int = 4) -> tuple[np.ndarray, float, int, float, float]:
    """The differences along the orthonormal polynomials, Pearson's chi-square of all bins, its degrees of freedom, and both totals."""
    kept = r + s > 0
    r, s = r[kept], s[kept]
    n, m = float(r.sum()), float(s.sum())
    most = min(most, len(r) - 1)
    if most < 1 or n == 0 or m == 0:
        return np.zeros(0), 0.0, 0, n, m
    w = (r + s) / (n + m)
    rank = np.cumsum(w) - w / 2
    q, upper = np.linalg.qr(np.vander(2 * rank - 1, most + 1, increasing=True) * np.sqrt(w)[:, None])
    h = q[:, 1:] * np.sign(np.diag(upper)[1:]) / np.sqrt(w)[:, None]
    chi2 = float((((r - n * w) ** 2) / (n * w) + ((s - m * w) ** 2) / (m * w)).sum())
    return h.T @ (s / m) - h.T @ (r / n), chi2, len(r) - 1, n, m
