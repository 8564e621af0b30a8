"""Row lineage and the sketches of columns: what is worked out once, in part or by another way must be what the plain way gives."""

import numpy as np
import pytest

from sabueso.capture import agreement, columns
from sabueso.capture.lineage import Lineage, sets, wholes
from sabueso.capture.lineage.fingerprints import row_hashes, same_values, table_of
from sabueso.capture.streams import Copies

pandas = pytest.importorskip("pandas")
RNG = np.random.default_rng(7)


def table(rows: int, repeated: bool = False) -> "pandas.DataFrame":
    frame = pandas.DataFrame(RNG.normal(size=(rows, 5)), columns=list("abcde"))
    frame.iloc[::7, 2] = np.nan
    frame["label"] = RNG.integers(0, 2, rows)
    if repeated:
        frame.iloc[rows // 2 :] = frame.iloc[: rows - rows // 2].to_numpy()
    return frame


def known(frame: "pandas.DataFrame", x: "pandas.DataFrame", monkeypatch: pytest.MonkeyPatch, least: int) -> tuple[Lineage, object]:
    monkeypatch.setattr(wholes, "LEAST_CELLS", least)
    lineage = Lineage()
    lineage.in_sight = lambda _: iter([("frame", frame, "f.py", 1)])
    return lineage, lineage.known_of(x)


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("cut", [["a", "b", "c", "d", "e"], ["b", "c", "d"], ["e", "label"]])
def test_columns_of_a_big_table_are_known_as_those_of_a_small_one(cut: list[str], repeated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = table(3000, repeated)
    x = frame[cut].copy()
    (_, plain), (lineage, found) = (known(frame, x, monkeypatch, least) for least in (10**12, 0))
    assert np.array_equal(plain.ids, found.ids) and plain.exact == found.exact and plain.source.kind == found.source.kind
    assert np.array_equal(found.hashes, row_hashes(table_of(x))) and np.array_equal(found.table.codes, table_of(x).codes)
    assert lineage.recall(x) is found and lineage.recall(frame) is not None


def test_an_array_and_the_table_that_it_is_of_are_read_once() -> None:
    frame = table(900)
    values = frame.to_numpy()
    lineage = Lineage()
    lineage.in_sight = lambda _: iter([("frame", frame, "f.py", 1)])
    found, whole = lineage.known_of(values), lineage.recall(frame)
    assert found is whole and whole.source.name == "frame" and whole.names == list(frame.columns) and len(lineage.known) == 1
    other = frame.copy()
    other.iloc[500, 3] += 1
    assert same_values(values, table_of(frame)) and same_values(other, table_of(other)) and not same_values(other, table_of(frame))


@pytest.mark.parametrize("repeated", [False, True])
def test_rows_taken_are_those_found_by_content(repeated: bool) -> None:
    frame, rows = table(2000, repeated), RNG.permutation(2000)[:700]
    lineage = Lineage()
    whole = lineage.register_source(frame)
    part = frame.iloc[rows]
    at = whole.find(row_hashes(table_of(part)))
    found = lineage.taken(part, rows, whole)
    assert np.array_equal(found.ids, whole.ids_at(at)) and np.array_equal(found.table.floats(), table_of(part).floats(), equal_nan=True)
    assert np.array_equal(found.table.column(2), table_of(part).codes[:, 2]) and found.table.holds(table_of(part).codes[:, 3])
    assert lineage.taken(part.copy(), rows[::-1], whole) is None, "other rows are told by the few that are looked at"


def test_sets_of_rows() -> None:
    for a, b in ((200, 3000), (3000, 200), (0, 10), (10, 0), (500, 500)):
        a, b = (np.unique(RNG.integers(0, 4000, n)) for n in (a, b))
        assert np.array_equal(sets.common(a, b), np.intersect1d(a, b)) and np.array_equal(sets.without(a, b), np.setdiff1d(a, b))
        assert sets.meet(a, b) == bool(len(np.intersect1d(a, b)))


@pytest.mark.parametrize("rows,width", [(2000, 8), (700, 2), (90, 3)])
def test_neighbours_are_the_nearest(rows: int, width: int) -> None:
    x = agreement.prepared(RNG.normal(size=(rows, width)))
    away = ((x[:, None] - x[None]) ** 2).sum(2) + np.where(np.eye(rows), np.inf, 0)
    assert (np.sort(agreement.neighbours(x, x, 7, same=True)) == np.sort(np.argsort(away, axis=1)[:, :7])).mean() > 0.999  # but for rounding
    same = np.zeros((rows, 2), np.float32)
    assert agreement.neighbours(same, same, 7, same=True).shape == (rows, 7)


@pytest.mark.parametrize(
    "values", [RNG.normal(size=5000), RNG.standard_cauchy(5000), RNG.integers(0, 400, 5000) * 1.0, np.exp(20 * RNG.random(5000)), np.arange(5000.0)]
)
def test_bins_are_those_of_the_edges(values: np.ndarray) -> None:
    ref = columns.reference("x", 0, values)
    for later in (values, values * 3 - 1, np.concatenate([ref.inner, ref.inner + 1e-9, values])):
        assert np.array_equal(columns._bins(ref, later), np.searchsorted(ref.inner, later, side="left"))


def test_columns_are_gathered_as_they_are() -> None:
    for x in (
        RNG.random((1000, 37)),
        np.asfortranarray(RNG.random((300, 5))),
        RNG.random((1000, 40))[::2, ::2],
        RNG.random((300, 20)).astype("f4"),
        RNG.random((9, 1)),
    ):
        given = [x[:, j] for j in range(x.shape[1])]
        assert all(np.array_equal(a, b) for a, b in zip(given, columns.gathered(given), strict=True))


def test_a_column_met_before_is_sketched_once() -> None:
    met: dict[object, columns.Reference] = {}
    x = RNG.normal(size=30_000)
    first, again, other = (columns.reference(n, j, v, met) for j, (n, v) in enumerate((("a", x), ("b", x.copy()), ("c", x[::-1]))))
    assert again.stock is first.stock and (again.name, again.index) == ("b", 1) and other.stock is not first.stock


def test_rows_given_again_are_kept_once() -> None:
    x, copies = RNG.normal(size=(2000, 4)), Copies()
    first, again, other = (copies.of([c for c in v.T]) for v in (x, x.copy(), x + 1))
    assert first[1] and not again[1] and again[0] is first[0] and other[1] and not np.shares_memory(first[0][0], x)
    assert all(np.array_equal(a, b) for a, b in zip(other[0], (x + 1).T, strict=True))


def test_rows_met_are_forgotten_with_the_arrays() -> None:
    """A loop over thousands of small arrays keeps the hashes of the last ones."""
    lineage, rng = Lineage(), np.random.default_rng(0)
    for _ in range(800):
        lineage.spent = 0.0
        last = rng.normal(size=(50, 3))
        lineage.known_of(last)
    met = lineage._met[3]
    assert met.any(lineage.known_of(last[5:9]).hashes) and met.rows <= 2.1 * 50 * len(lineage.known)  # type: ignore[arg-type, union-attr]
    assert sum(map(len, met.runs)) <= met.rows and len(met.runs) < 20
