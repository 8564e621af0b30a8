"""Changes of how data comes in: rows or a column of a table left out, loaders that shuffle or work within the process."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

READERS = ("read_csv", "read_table", "read_parquet", "read_feather", "read_json", "read_excel", "read_pickle", "read_sql", "read_sql_query", "read_fwf")
WORKERS = 5  # place of num_workers among the arguments of a loader


def tables(change: Any, pandas: Any) -> None:
    """Each table that is read and has those rows (and that column)."""
    rows, column = change.place.get("row"), change.place.get("column")
    rows = rows if isinstance(rows, list) else [] if rows is None else [rows]
    columns = column if isinstance(column, list) else [] if column is None else [column]

    def changed(table: Any) -> Any:
        if not isinstance(table, pandas.DataFrame) or not all(c in table.columns for c in columns):
            return table
        if change.name == "column left out" and columns:
            table = table.copy()
            for c in columns:
                table[c] = table[c].dropna().iloc[0] if len(table[c].dropna()) else 0
            change.applied()
        elif rows and max(rows) < len(table):
            table = table.drop(table.index[rows])
            change.applied()
        return table

    as_read(pandas, changed)


def as_read(pandas: Any, changed: Callable[[Any], Any]) -> None:
    """Each table that is read becomes what `changed` makes of it."""

    def wrapped(call: Any) -> Any:
        return lambda *args, **kwargs: changed(call(*args, **kwargs))

    for name in READERS:
        if hasattr(pandas, name):
            setattr(pandas, name, wrapped(getattr(pandas, name)))


def shuffled_tables(change: Any, pandas: Any) -> None:
    """Rows of each table that is read stand in no order: tables of one length in one and the same, so that rows stay beside one another."""

    def changed(table: Any) -> Any:
        if not isinstance(table, pandas.DataFrame) or len(table) < 2:
            return table
        change.applied()
        plain = isinstance(table.index, pandas.RangeIndex)
        return table.sample(frac=1.0, random_state=0).reset_index(drop=True) if plain else table.sample(frac=1.0, random_state=0)

    as_read(pandas, changed)


def shuffled_splits(change: Any, split: Any) -> None:
    """Folds and parts that would be cut from rows as they stand are cut from rows in no order."""

    def folded(call: Any) -> Any:
        def parts(self: Any, *args: Any, **kwargs: Any) -> Any:
            if getattr(self, "shuffle", True):
                return call(self, *args, **kwargs)
            change.applied()
            self.shuffle, self.random_state = True, 0
            try:
                found = call(self, *args, **kwargs)
                return list(found) if inspect.isgenerator(found) else found  # cut at once, while it shuffles
            finally:
                self.shuffle, self.random_state = False, None

        return parts

    def parted(*arrays: Any, **kwargs: Any) -> Any:
        if kwargs.get("shuffle", True):
            return cut(*arrays, **kwargs)
        change.applied()
        return cut(*arrays, **{**kwargs, "shuffle": True, "random_state": 0})

    for cls, method in ((split.KFold, "_iter_test_indices"), (split.StratifiedKFold, "_make_test_folds")):
        setattr(cls, method, folded(getattr(cls, method)))
    cut, split.train_test_split = split.train_test_split, parted


def evenly(size: int, rows: int) -> list[int]:
    """So many of the rows, evenly spaced, in their order: every part of an ordered table is met."""
    return [int(i * size / rows) for i in range(rows)] if size > rows else list(range(size))


def sliced_tables(change: Any, pandas: Any) -> None:
    """Each table that is read is a slice of itself."""

    def changed(table: Any) -> Any:
        if not isinstance(table, pandas.DataFrame) or len(table) <= change.rows:
            return table
        change.applied()
        return table.iloc[evenly(len(table), change.rows)]

    as_read(pandas, changed)


def sliced_loaders(change: Any, torch: Any) -> None:
    """Each loader without a sampler of its own goes over a slice of its data."""
    data = torch.utils.data
    built = data.DataLoader.__init__

    def init(self: Any, dataset: Any, *args: Any, **kwargs: Any) -> None:
        own = kwargs.get("sampler") is not None or kwargs.get("batch_sampler") is not None or len(args) > 2
        if not own and hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__") and len(dataset) > change.rows:
            change.applied()
            dataset = data.Subset(dataset, evenly(len(dataset), change.rows))
        built(self, dataset, *args, **kwargs)

    data.DataLoader.__init__ = init


def shuffled(change: Any, torch: Any) -> None:
    """The loader made at the line of the finding (any, where it has none) shuffles."""
    loader = torch.utils.data.DataLoader
    built = loader.__init__

    def init(self: Any, dataset: Any, batch_size: Any = 1, shuffle: Any = None, *args: Any, **kwargs: Any) -> None:
        if (
            not shuffle
            and not args
            and kwargs.get("sampler") is None
            and kwargs.get("batch_sampler") is None
            and change.here()
            and hasattr(dataset, "__getitem__")
        ):
            change.applied()
            shuffle = True
        built(self, dataset, batch_size, shuffle, *args, **kwargs)

    loader.__init__ = init


def within(change: Any, torch: Any) -> None:
    """No worker processes."""
    loader = torch.utils.data.DataLoader
    built = loader.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        asked = args[WORKERS] if len(args) > WORKERS else kwargs.get("num_workers", 0)
        if asked:
            change.applied()
            args = (*args[:WORKERS], 0, *args[WORKERS + 1 :]) if len(args) > WORKERS else args
            kwargs = {
                k: v for k, v in kwargs.items() if k not in ("num_workers", "prefetch_factor", "persistent_workers", "multiprocessing_context", "timeout")
            }
        built(self, *args, **kwargs)

    loader.__init__ = init


CHANGES = {"rows shuffled": shuffled, "workers 0": within}
