"""How the rows of one table are found in another: by a few telling columns, or by the same order of values in every column."""

from __future__ import annotations

import numpy as np

from .fingerprints import Table, column_bits, row_hashes, spaced

MOST_KEYS = 4  # tables whose hashes are kept, 24 bytes a row
SAMPLE = 12  # rows by which columns are told apart
MOST_WORK = 40_000_000  # comparisons that a search for equal columns may take
AT_ONCE = 500_000  # comparisons made in one array
SPARE_BITS = 8.0  # beyond log2 of the other table's rows: fewer than one row in 256 finds a wrong partner by chance
UNIQUE = 0.98  # share of keys that must stand once in the other table for rows to be told for certain


class Keys:
    """Hashes of a table by some of its columns, in order: kept for the tables last asked for, in which many small ones are looked for."""

    def __init__(self) -> None:
        self.held: dict[tuple[int, tuple[int, ...]], tuple[Table, np.ndarray, np.ndarray, np.ndarray]] = {}

    def of(self, table: Table, columns: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(hashes, order that sorts them, sorted hashes)."""
        key = id(table), tuple(columns)
        found = self.held.pop(key, None)
        if found is None or found[0] is not table:
            hashes = row_hashes(table, columns)
            order = np.argsort(hashes, kind="stable")
            found = table, hashes, order, hashes[order]
        self.held[key] = found
        if len(self.held) > MOST_KEYS:
            self.held.pop(next(iter(self.held)))
        return found[1:]


def by_columns(table: Table, other: Table, ids: np.ndarray | None = None, keys: Keys | None = None) -> tuple[np.ndarray, bool] | None:
    """Rows of `table` in `other` by columns that both hold: positions (-1 where none) and whether a row is told for certain.

    With the `ids` of the other's rows those are left unknown whose columns stand there in several different rows.
    """
    pairs = shared_columns(table, other)
    if not pairs:
        return None
    bits = column_bits(table.take(spaced(table.rows, 256)))
    need = np.log2(other.rows + 1) + SPARE_BITS
    chosen = sorted(sorted(pairs, key=lambda p: -bits[p[0]])[:8], key=lambda p: p[1])  # in the other's order: the same for all of its parts
    sum_bits = sum(bits[j] for j, _ in chosen)
    if sum_bits < 0.9 * np.log2(other.rows + 1) + 4:
        return None
    mine = row_hashes(table, [j for j, _ in chosen])
    theirs, order, values = (keys or Keys()).of(other, [c for _, c in chosen])
    once = 1 + np.count_nonzero(values[1:] != values[:-1])
    if table.rows == other.rows and np.array_equal(theirs, mine):  # the same order: twins stay with themselves
        once = len(values) - len(_unlike(theirs, ids, order)) if ids is not None and once < len(values) else once
        return np.arange(table.rows), bool(sum_bits >= need and once >= UNIQUE * len(values))
    at = np.minimum(values.searchsorted(mine), len(order) - 1)
    hit = values[at] == mine
    if hit.mean() <= 0.95:
        return None
    unlike = _unlike(theirs, ids, order) if ids is not None and once < len(values) else None
    once = len(values) - len(unlike) if unlike is not None else once  # rows that are equal in all columns do no harm
    if unlike is not None and len(unlike):
        hit &= ~np.isin(mine, values[unlike])
    at = np.where(hit, order[at], -1)
    return at, bool(sum_bits >= need and once >= UNIQUE * len(values))


def for_certain(table: Table, ids: np.ndarray) -> bool | None:
    """Would `by_columns` tell the rows of a table for certain, in it or columns of it? None where they tell no rows apart."""
    bits = column_bits(table)
    chosen = sorted(range(table.width), key=lambda j: -bits[j])[:8]
    if bits[chosen].sum() < 0.9 * np.log2(table.rows + 1) + 4:
        return None
    hashes = row_hashes(table, chosen)
    values = np.sort(hashes)
    once = 1 + np.count_nonzero(values[1:] != values[:-1])
    once = len(values) - len(_unlike(hashes, ids)) if once < len(values) else once
    return bool(bits[chosen].sum() >= np.log2(table.rows + 1) + SPARE_BITS and once >= UNIQUE * len(values))


def _unlike(hashes: np.ndarray, ids: np.ndarray, order: np.ndarray | None = None) -> np.ndarray:
    """Places, in the order of the hashes, whose next row has the same hash and another id."""
    order = np.argsort(hashes, kind="stable") if order is None else order
    values, named = hashes[order], ids[order]
    return np.flatnonzero((values[1:] == values[:-1]) & (named[1:] != named[:-1]))


def shared_columns(table: Table, other: Table) -> list[tuple[int, int]]:
    """(column here, column there) whose values are the same in the same rows, told by a dozen rows."""
    rows = spaced(table.rows, SAMPLE)
    sample = table.take(rows).codes
    distinct = [len(np.unique(sample[:, j])) for j in range(table.width)]
    telling = [j for j in sorted(range(table.width), key=lambda j: -distinct[j])[:4] if distinct[j] > 0.8 * len(rows)]
    best: list[tuple[int, int]] = []
    for j in telling:
        for c in _candidates(table, other, j):
            found = _places(other.column(c), sample[:, j])
            if found is None:
                continue
            mine, there = sample[found[0]], other.take(found[1]).codes  # the sampled rows as the other table has them
            if table.width * other.width >= 40_000:
                pairs = [(i, i) for i in range(min(table.width, other.width)) if (mine[:, i] == there[:, i]).mean() > 0.9]
            else:
                pairs = _pair((mine[:, :, None] == there[:, None, :]).mean(axis=0) > 0.9, table, other)
            best = max(best, pairs, key=len)
            if len(best) >= 0.8 * min(table.width, other.width):
                return best
    if len(best) > 1 or table.width == 1:
        return best
    return _by_containment(table, other, sample)


def _by_containment(table: Table, other: Table, sample: np.ndarray) -> list[tuple[int, int]]:
    """Where no single column tells rows apart: columns whose sampled values all stand in one of the other's, of the same name or in order."""
    if table.width * other.width * other.rows * len(sample) > MOST_WORK:
        rows = range(min(table.width, other.width)) if not (table.names and other.names) else ()
        named = [(j, other.names.index(n)) for j, n in enumerate(table.names or ()) if other.names and n in other.names]
        return named or [(j, j) for j in rows if table.width == other.width]
    pairs, least = [], 0
    columns = np.ascontiguousarray(other.codes.T)
    for j in range(table.width):
        wanted = np.unique(sample[:, j])  # one by one: of another column's values the first is seldom there
        fits = _holding(columns, wanted)
        named = [c for c in fits if table.names and other.names and table.names[j] == other.names[c]]
        later = [c for c in fits if c >= least]
        if named or (fits and not (table.names and other.names)):
            c = named[0] if named else later[0] if later else fits[0]
            pairs.append((j, c))
            least = c + 1
    return pairs


def _holding(columns: np.ndarray, wanted: np.ndarray) -> list[int]:
    """The columns (along the first axis) in which all of these values stand; small ones are compared at once."""
    if columns.size * len(wanted) <= AT_ONCE:
        return np.flatnonzero((columns[:, :, None] == wanted).any(axis=1).all(axis=1)).tolist()
    return [c for c in range(len(columns)) if all((columns[c] == v).any() for v in wanted)]


def _candidates(table: Table, other: Table, j: int) -> list[int]:
    """Columns of the other table that may be column j: of the same name first, then the same place, then any."""
    first = []
    if table.names and other.names and table.names[j] in other.names:
        first.append(other.names.index(table.names[j]))
    if j < other.width:
        first.append(j)
    budget = max(0, MOST_WORK // max(1, 4 * other.rows))
    rest = [c for c in range(other.width) if other.numeric[c] == table.numeric[j]][: min(64, budget)]
    return list(dict.fromkeys(first + rest))


def _places(column: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """(which of the values stand in the column once, and where), if most of them do."""
    if not (column == values[0]).any() and not (column == values[len(values) // 2]).any():
        return None
    which, at = [], []
    for i, value in enumerate(values):
        places = np.flatnonzero(column == value)
        if len(places) == 1:
            which.append(i)
            at.append(places[0])
        elif not len(places) and i > 2 and not which:
            return None
    return (np.array(which), np.array(at)) if len(which) >= max(4, 0.5 * len(values)) else None


def _pair(same: np.ndarray, table: Table, other: Table) -> list[tuple[int, int]]:
    """One column there for each here: the one of its name, of its place, or the first."""
    pairs = []
    for j in range(table.width):
        cs = np.flatnonzero(same[j])
        if len(cs):
            named = [c for c in cs if table.names and other.names and table.names[j] == other.names[c]]
            pairs.append((j, int(named[0] if named else j if j in cs else cs[0])))
    return pairs


def same_order(table: Table, other: Table) -> bool:
    """Do rows correspond by position: has each of most telling columns its values in the same order over 64 rows (scaling, logs, ranks)?"""
    rows = spaced(table.rows, 64)
    if len(rows) < 16:
        return False
    mine, theirs = table.floats(rows), other.floats(rows)
    width = min(table.width, other.width)
    told = fits = 0
    for j in range(width):
        a, b = mine[:, j], theirs[:, j]
        if np.isfinite(a).all() and np.isfinite(b).all() and len(np.unique(a)) > 12 and len(np.unique(b)) > 12:
            told += 1
            order = np.argsort(b, kind="stable")
            step, base = np.diff(a[order]), np.diff(b[order])
            fits += bool((step[base > 0] >= 0).all() or (step[base > 0] <= 0).all())
    return told > 0 and fits >= max(1, 0.7 * told)


def holds(whole: Table, whole_hashes: np.ndarray, part: Table, part_hashes: np.ndarray) -> bool | tuple[np.ndarray, bool]:
    """Was the part cut from the whole: are its rows, or those of the columns that both have (then as `by_columns` finds them), in it?"""
    if whole.rows < part.rows:
        return False
    if whole.width == part.width:
        probes = part_hashes[spaced(len(part_hashes), 16)]
        if np.mean([(whole_hashes == p).any() for p in probes]) > 0.9:
            return True
    if whole.width < part.width // 2:
        return False
    return by_columns(part, whole) or (whole.rows == part.rows and same_order(part, whole))
