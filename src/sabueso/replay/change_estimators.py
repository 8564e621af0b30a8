"""Changes of what scikit-learn's kind of estimators is given and judged on.

They are put in within the adapters' hooks, so that what is captured is what the person's code said. Which rows are judged is known only when a
fitted model is asked about them: then a copy is fitted as it should have been, and answers in the model's place.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .same_rows import columns_of, found_in, keys_of, plain, put_back, take

FITS, ANSWERS = ("fit",), ("predict", "predict_proba", "predict_log_proba", "decision_function", "score")
METHODS = (*FITS, *ANSWERS, "transform", "fit_transform", "fit_resample")
LEAST_LEFT = 0.4  # share of the training rows that must be left when those judged are taken out; else the judged rows are parted in three
PARTS = 3


@dataclass
class Fitted:
    """What an estimator was fitted on."""

    owner: Any
    x: Any
    y: Any
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass
class Made:
    """A call of a transformer: what it was given and what it made of it."""

    owner: Any
    given: Any
    out: Any


class Estimators:
    """The hooks round every estimator's methods; `meet` says what becomes of a call by the person's code (or by a cross-validation)."""

    def __init__(self, change: Any, remedy: type[Remedy]) -> None:
        self.change = change
        self.depth, self.hooked = 0, set[type]()
        self.fits: list[Fitted] = []
        self.made: list[Made] = []
        self.samplers: list[Any] = []
        self.remedy = remedy(self)

    def fitted(self, owner: Any) -> Fitted | None:
        return next((f for f in reversed(self.fits) if f.owner is owner), None)

    def install(self, base: Any) -> None:
        """Every estimator that there is, and every one before others hook it."""
        for cls in base.BaseEstimator.__subclasses__():
            self.all(cls)
        known = base.BaseEstimator.__init_subclass__.__func__

        def init_subclass(cls: type, *args: Any, **kwargs: Any) -> None:
            self.hook(cls)
            known(cls, *args, **kwargs)

        base.BaseEstimator.__init_subclass__ = classmethod(init_subclass)

    def all(self, cls: type) -> None:
        self.hook(cls)
        for sub in cls.__subclasses__():
            self.all(sub)

    def hook(self, cls: type) -> None:
        for part in [c for c in cls.__mro__[:-1] if c not in self.hooked]:
            self.hooked.add(part)
            for name in METHODS:
                held = vars(part).get(name)
                if type(held).__name__ == "_AvailableIfDescriptor" and callable(getattr(held, "fn", None)):
                    held.fn = self.wrapped(name, held.fn)
                elif callable(held) and not isinstance(held, (staticmethod, classmethod, property, type)):
                    setattr(part, name, self.wrapped(name, held))

    def wrapped(self, name: str, call: Any) -> Any:
        """The method, with the remedy in its way where it is not called by another estimator."""

        @functools.wraps(call)
        def method(owner: Any, *args: Any, **kwargs: Any) -> Any:
            if self.depth or not args and "X" not in kwargs:
                return call(owner, *args, **kwargs)
            self.depth += 1
            try:
                x = args[0] if args else kwargs.pop("X")
                return self.remedy.met(name, lambda given, *more, **named: call(owner, given, *more, **named), owner, x, args[1:], kwargs)
            finally:
                self.depth -= 1

        return method


class Remedy:
    """What becomes of a call; this one lets all pass and remembers fits and transforms."""

    def __init__(self, hooks: Estimators) -> None:
        self.hooks, self.change = hooks, hooks.change
        self.asked: tuple[Any, Any, Any] = (None, None, None)  # owner, rows, who answers for it

    def met(self, name: str, call: Any, owner: Any, x: Any, more: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name in FITS:
            self.hooks.fits.append(Fitted(owner, x, more[0] if more else kwargs.get("y"), {k: v for k, v in kwargs.items() if k != "y"}))
            return call(x, *more, **kwargs)
        if name in ANSWERS and (fitted := self.hooks.fitted(owner)) is not None:
            result = self.answered(fitted, name, x, more, kwargs)
            return call(x, *more, **kwargs) if result is None else result
        out = call(x, *more, **kwargs)
        if name == "fit_transform":
            self.hooks.fits.append(Fitted(owner, x, more[0] if more else kwargs.get("y")))
        if name in ("transform", "fit_transform"):
            self.hooks.made.append(Made(owner, x, out))
        return out

    def answered(self, fitted: Fitted, name: str, x: Any, more: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The answer of a model fitted as it should have been; None where it was."""
        if self.asked[0] is not fitted or self.asked[1] is not x:
            self.asked = (fitted, x, self.instead(fitted, x, more[0] if more else kwargs.get("y")))
        return None if self.asked[2] is None else self.asked[2](name, more, kwargs)

    def instead(self, fitted: Fitted, x: Any, y: Any) -> Callable[..., Any] | None:
        """(method, further arguments) -> its result; None where nothing is amiss."""
        return None

    def again(self, fitted: Fitted, x: Any, y: Any) -> Any:
        """A copy of the model fitted on these rows."""
        self.change.applied()
        copy = sys.modules["sklearn.base"].clone(fitted.owner)
        whole = len(y) == len(fitted.y) if y is not None else True
        return copy.fit(x, *(() if y is None else (y,)), **(fitted.kwargs if whole else {k: v for k, v in fitted.kwargs.items() if k != "sample_weight"}))


class JudgedLeftOut(Remedy):
    """Rows that are judged are no training rows."""

    def instead(self, fitted: Fitted, x: Any, y: Any) -> Callable[..., Any] | None:
        mine, theirs = keys_of(fitted.x), keys_of(x)
        if fitted.y is None or not set(mine) & set(theirs):
            return None
        left = ~np.isin(mine, theirs)
        if left.mean() >= LEAST_LEFT:
            model = self.again(fitted, take(fitted.x, np.flatnonzero(left)), take(fitted.y, np.flatnonzero(left)))
            return lambda name, more, kwargs: getattr(model, name)(x, *more, **kwargs)
        parts = np.unique(theirs, return_inverse=True)[1] % PARTS
        rows = [np.flatnonzero(parts == p) for p in range(PARTS) if (parts == p).any()]
        kept = [np.flatnonzero(~np.isin(mine, theirs[r])) for r in rows]
        if min(map(len, kept)) < 2:
            return None
        models = [self.again(fitted, take(fitted.x, k), take(fitted.y, k)) for k in kept]

        def answer(name: str, more: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            found = [getattr(m, name)(take(x, r), *(take(v, r) if hasattr(v, "__len__") else v for v in more), **kwargs) for m, r in zip(models, rows)]
            return float(np.average(found, weights=[len(r) for r in rows])) if name == "score" else put_back(found, rows)

        return answer


class Refitted(Remedy):
    """Transformers learn from the training rows alone: found by content among what they made, they are fitted anew, and the model behind them."""

    def instead(self, fitted: Fitted, x: Any, y: Any) -> Callable[..., Any] | None:
        made = self.remade(fitted.x, x, fitted.y, len(self.hooks.made))
        if made is None:
            return None
        model = self.again(fitted, made[0], fitted.y)
        return lambda name, more, kwargs: getattr(model, name)(made[1], *more, **kwargs)

    def remade(self, train: Any, judged: Any, y: Any, before: int) -> tuple[Any, Any] | None:
        """Training and judged rows as the transformers would have made them, had they seen the training rows alone."""
        for n in range(before - 1, -1, -1):
            owner = self.hooks.made[n].owner
            learnt = self.hooks.fitted(owner)
            if learnt is None:
                continue
            mine, theirs = (self.source(owner, rows, n + 1) for rows in (train, judged))
            if mine is None or theirs is None or not set(keys_of(theirs[0])) & set(keys_of(learnt.x)):
                continue
            columns = mine[1]
            given = self.remade(mine[0], theirs[0], y, n) or (mine[0], theirs[0])
            copy = sys.modules["sklearn.base"].clone(owner)
            copy.fit(given[0], *(() if learnt.y is None else (y,)))
            return tuple(columns_of(copy.transform(g), columns, rows) for g, rows in zip(given, (train, judged)))  # type: ignore[return-value]
        return None

    def source(self, owner: Any, rows: Any, before: int) -> tuple[Any, list[int | None]] | None:
        """What the transformer was given for these rows, and which of its columns they hold."""
        for made in [m for m in self.hooks.made[:before] if m.owner is owner]:
            found = found_in(rows, made.out)
            if found is not None:
                return take(made.given, found[0]), found[1]
        return None


class ResampledWithin(Remedy):
    """A resampler of all rows gives them back as they were; each model is fitted on rows that it resampled from the training rows."""

    def met(self, name: str, call: Any, owner: Any, x: Any, more: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name == "fit_resample":
            self.hooks.samplers.append(sys.modules["sklearn.base"].clone(owner))
            return x, more[0] if more else kwargs["y"]
        y = more[0] if more else kwargs.get("y")
        if name in FITS and self.hooks.samplers and y is not None and hasattr(owner, "predict"):
            self.change.applied()
            x, y = self.hooks.samplers[-1].fit_resample(x, y)
            return call(x, y, **{k: v for k, v in kwargs.items() if k not in ("y", "sample_weight")})
        return call(x, *more, **kwargs)


class EncodedWithin(Remedy):
    """The column that holds means of the target by category holds those of the training rows alone."""

    def instead(self, fitted: Fitted, x: Any, y: Any) -> Callable[..., Any] | None:
        column = self.change.place.get("column")
        if fitted.y is None or not all(hasattr(t, "columns") and column in list(t.columns) for t in (x, fitted.x)):
            return None
        train, judged = categories(column, fitted.x, x)
        if not np.isin(judged, train).any():
            return None
        truth = np.asarray(fitted.y, dtype=float) if np.asarray(fitted.y).dtype.kind in "biuf" else np.unique(fitted.y, return_inverse=True)[1].astype(float)
        levels, codes = np.unique(train, return_inverse=True)
        size, total, mean = np.bincount(codes), np.bincount(codes, truth), truth.mean()
        alone = (total[codes] - truth + mean) / size[codes]  # a training row does not tell its own answer
        at = np.clip(np.searchsorted(levels, judged), 0, len(levels) - 1)
        within = np.where(levels[at] == judged, ((total + mean) / (size + 1))[at], mean)  # a category of few rows by the mean of all, as encoders do
        model = self.again(fitted, fitted.x.assign(**{column: alone}), fitted.y)
        return lambda name, more, kwargs: getattr(model, name)(x.assign(**{column: within}), *more, **kwargs)


def categories(column: str, *tables: Any) -> list[np.ndarray]:
    """A number for the category of each row: by the column of a table in sight that the means were taken by, else by the means themselves."""
    frame = sys._getframe()
    while frame is not None:
        for held in [*frame.f_locals.values(), *frame.f_globals.values()]:
            if type(held).__name__ == "DataFrame" and column in list(held.columns) and held.index.is_unique:
                key = key_of(held, column) if all(t.index.isin(held.index).all() for t in tables) else None
                if key is not None:
                    codes = held[key].map({v: i for i, v in enumerate(held[key].unique())})
                    return [codes.loc[t.index].to_numpy() for t in tables]
        frame = frame.f_back  # type: ignore[assignment]
    return [np.asarray(t[column], dtype=float) for t in tables]


def key_of(table: Any, column: str) -> str | None:
    """The column with fewest levels within each of which the other one is constant."""
    found = {}
    for name in [c for c in table.columns if c != column]:
        levels = table[name].nunique()
        if 1 < levels < 0.7 * len(table) and table.groupby(name)[column].nunique().max() == 1:
            found[name] = levels
    return min(found, key=found.__getitem__, default=None)  # type: ignore[arg-type]


class FiniteRows(Remedy):
    """No model is fitted on rows whose answer is NaN or infinite, or that hold an infinite number."""

    def met(self, name: str, call: Any, owner: Any, x: Any, more: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        y = more[0] if more else kwargs.get("y")
        if name not in FITS or y is None or not hasattr(x, "shape"):
            return call(x, *more, **kwargs)
        values, answers = plain(x), np.asarray(y)
        left = np.isfinite(answers.astype(float)).reshape(len(answers), -1).all(axis=1) if answers.dtype.kind in "biuf" else np.ones(len(answers), bool)
        if values.dtype.kind in "biuf":
            left &= ~np.isinf(values.astype(float)).any(axis=1)
        if left.all() or left.sum() < 2:
            return call(x, *more, **kwargs)
        self.change.applied()
        rows = np.flatnonzero(left)
        return call(take(x, rows), take(y, rows), *more[1:], **{k: v for k, v in kwargs.items() if k not in ("y", "sample_weight")})


class WithoutColumn(Remedy):
    """That column has one value for every row that a model is given."""

    def met(self, name: str, call: Any, owner: Any, x: Any, more: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return call(self.blank(x), *more, **kwargs)

    def blank(self, x: Any) -> Any:
        columns = self.change.place.get("column")
        columns = columns if isinstance(columns, list) else [columns]
        held = [c for c in columns if c in list(getattr(x, "columns", ()))]
        if held and len(x):
            self.change.applied()
            x = x.assign(**{c: x[c].dropna().iloc[0] if x[c].notna().any() else 0 for c in held})
        places = [int(c[7:]) for c in columns if str(c).startswith("column ") and str(c)[7:].isdigit()]
        if isinstance(x, np.ndarray) and x.ndim == 2 and places and max(places) < x.shape[1]:
            self.change.applied()
            x = x.copy()
            x[:, places] = x[0, places]
        return x


CHANGES: dict[str, type[Remedy]] = {
    "judged rows left out of the fit": JudgedLeftOut, "transformers refitted on the training rows": Refitted, "column left out": WithoutColumn,
    "resampled within the training rows": ResampledWithin, "encoded within the training rows": EncodedWithin,
    "inputs made finite": FiniteRows,
}  # fmt: skip


def install(change: Any, base: Any) -> None:
    """Put the intervention into every estimator."""
    if change.name in CHANGES:
        Estimators(change, CHANGES[change.name]).install(base)
