"""The data half of the battery, for estimators in the manner of scikit-learn: table, labels, what the estimator makes of them."""

from __future__ import annotations

import copy
import math
import pickle
import sys
import warnings
from typing import Any

import numpy as np

from ..places import Place
from .answers import Answer, fault

MOST_ROWS = 1_000
SCALE_MATTERS = ("KNeighbors", "SVC", "SVR", "MLP", "SGD", "KMeans", "PCA", "LogisticRegression", "Ridge", "Lasso", "Nystroem")


def answers(model: Any, batch: Any) -> list[Answer]:
    """The questions that a table and its labels answer. Nothing of the given estimator is fitted."""
    x, y = batch
    values, names = table_of(x)
    state = np.random.get_state()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [*of_table(values, names, np.asarray(y)), *scales(model, values, names), *fitted(model, x, np.asarray(y))]
    finally:
        np.random.set_state(state)


def table_of(x: Any) -> tuple[np.ndarray, list[str]]:
    """The numbers of a table and the names of its columns."""
    names = [str(c) for c in x.columns] if hasattr(x, "columns") else []
    held = np.asarray(x)
    if held.dtype.kind not in "fiub":
        columns = [np.asarray(x[c]) if names else held[:, i] for i, c in enumerate(names or range(held.shape[1]))]
        keep = [i for i, c in enumerate(columns) if c.dtype.kind in "fiub"]
        names = [names[i] if names else str(i) for i in keep]
        held = np.column_stack([columns[i].astype(float) for i in keep]) if keep else np.zeros((len(held), 0))
    return held.astype(float).reshape(len(held), -1), names or [str(i) for i in range(held.shape[1] if held.ndim > 1 else 1)]


def of_table(x: np.ndarray, names: list[str], y: np.ndarray) -> list[Answer]:
    """Values missing, columns without information, rows twice with different labels."""
    missing = ~np.isfinite(x)
    steady = [n for n, c in zip(names, x.T) if len(c) > 1 and np.nanstd(c) == 0]
    found = [
        Answer("all numbers are there", not missing.any() or None, f"{int(missing.sum())} missing", [("missing or infinite values", int(missing.sum()), 0)]),
        Answer("every column varies", not steady or None, ", ".join(steady[:5]) or "they do", [("constant columns", len(steady), 0)]),
    ]
    if steady:
        found[1].findings.append(
            fault(
                "constant-column",
                f"column {steady[0]} has one value",
                found[1].evidence,
                "leave it out",
                Place(column=steady[:50]),
                severity="note",
                stage="preprocess",
            )
        )
    _, first, group, counts = np.unique(np.nan_to_num(x), axis=0, return_index=True, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    classes = y.dtype.kind in "iubOUS" or len(np.unique(y)) <= 20
    conflicts = [int(g) for g in np.flatnonzero(counts > 1) if classes and len(np.unique(y[group == g])) > 1][:50] if x.shape[1] else []
    share = sum(int(counts[g]) for g in conflicts) / max(len(x), 1)
    numbers = [("rows that stand in the table with other labels too", sum(int(counts[g]) for g in conflicts), 0), ("share of all rows", round(share, 4), 0)]
    answer = Answer("equal rows have equal labels", share < 0.02 or None, f"{len(conflicts)} kinds of rows have several" if conflicts else "they do", numbers)
    if share >= 0.1 and x.shape[1] > 3:
        rows = [int(r) for g in conflicts for r in np.flatnonzero(group == g)][:50]
        answer.passed = False
        answer.findings.append(
            fault(
                "label-conflict",
                f"{100 * share:.0f} % of the rows stand in the table again with another label",
                numbers,
                "look how the labels were made",
                Place(row=rows),
                severity="warning",
                stage="ingest",
            )
        )
    return [*found, answer]


def scales(model: Any, x: np.ndarray, names: list[str]) -> list[Answer]:
    """Columns of very different spread, given to an estimator to which it matters."""
    kind = type(model).__name__
    spread = np.array([np.nanstd(c) for c in x.T])
    spread = spread[spread > 0]
    if not any(k in kind for k in SCALE_MATTERS) or len(spread) < 2:
        return [Answer("columns have one scale", None, "it does not matter to this estimator, or it scales by itself")]
    ratio = float(spread.max() / spread.min())
    numbers = [("largest spread of a column over the smallest", ratio, "below 100")]
    if ratio < 1000 or not any(k in kind for k in SCALE_MATTERS[:5]):
        return [Answer("columns have one scale", ratio < 1000 or None, f"{ratio:.3g}", numbers)]
    name = names[int(np.nanargmax([np.nanstd(c) for c in x.T]))]
    found = fault(
        "unscaled-input",
        f"column {name} outweighs the others {ratio:.3g} times in what {kind} measures",
        numbers,
        "put a StandardScaler before it in a Pipeline",
        Place(column=name),
        severity="warning",
        stage="preprocess",
    )
    return [Answer("columns have one scale", False, found.says, numbers, [found])]


def fitted(model: Any, x: Any, y: np.ndarray) -> list[Answer]:
    """Learnt better than permuted labels are; the same each time; kept by a round trip; rows by themselves."""
    clone, selection = sys.modules["sklearn.base"].clone, sys.modules.get("sklearn.model_selection")
    few = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    take = (lambda r: x.iloc[r]) if hasattr(x, "iloc") else (lambda r: np.asarray(x)[r])
    part, labels = take(few), y[few]
    try:
        one = clone(model).fit(part, labels)
        answer = np.asarray(one.predict(part))
    except Exception as error:
        text = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        kind = "missing-values" if "NaN" in text else "numeric-as-text" if "could not convert" in text else "shape-mismatch"
        found = fault(kind, f"it can't be fitted: {text}", [("exception", text, "none")], "mend the table at that value", stage="preprocess")
        return [Answer("it can be fitted", False, found.says, found.evidence, [found])]
    found = [Answer("it can be fitted", True, f"on {len(few)} rows"), permuted(model, clone, selection, part, labels)]
    anew = differing(lambda: clone(model).fit(part, labels).predict(part), answer)
    found.append(Answer("a second fit gives the same", anew == 0 or None, "it does" if anew == 0 else "set random_state", [("answers that differ", anew, 0)]))
    back = differing(lambda: pickle.loads(pickle.dumps(one)).predict(part), answer)
    says = "it can't be pickled" if back is None else "it does" if not back else f"{back} answers differ"
    found.append(Answer("saving and loading keeps the answers", None if back is None else back == 0, says, [("answers that differ", back, 0)]))
    return [*found, alone(one, take, few, answer)]


def differing(make: Any, answer: np.ndarray) -> int | None:
    """How many answers are others; None where they can't be made."""
    try:
        return int((np.asarray(make()) != answer).sum())
    except Exception:
        return None


def alone(fitted: Any, take: Any, rows: np.ndarray, answer: np.ndarray) -> Answer:
    """Rows given one by one, against the same rows among others."""
    single = np.concatenate([np.asarray(copy.deepcopy(fitted).predict(take(rows[i : i + 1]))) for i in range(min(5, len(rows)))])
    apart = [i for i in range(len(single)) if not same(single[i], answer[i])]
    says = f"{len(apart)} of {len(single)} differ" if apart else "it is"
    numbers = [("rows that are answered otherwise alone", len(apart), 0)]
    answered = Answer("each row is answered by itself", not apart, says, numbers)
    if apart:
        why = "a row alone is answered otherwise than among others: something is fitted anew on what is predicted"
        answered.findings.append(fault("preprocess-skew", why, numbers, "fit in fit, only apply in predict", stage="deploy"))
    return answered


def same(a: Any, b: Any) -> bool:
    return bool(np.all(a == b)) or isinstance(a, (float, np.floating)) and math.isclose(a, b, rel_tol=1e-5)


def permuted(model: Any, clone: Any, selection: Any, x: Any, y: np.ndarray) -> Answer:
    """Cross-validated with the labels and with permuted ones."""
    question = "the labels tell more than permuted ones"
    if selection is None or len(y) < 30:
        return Answer(question, None, "too few rows")
    try:
        got, chance = (float(np.mean(selection.cross_val_score(clone(model), x, labels, cv=3))) for labels in (y, np.random.default_rng(1).permutation(y)))
    except Exception as error:
        return Answer(question, None, f"no cross-validation ({type(error).__name__})")
    return Answer(
        question,
        got > chance or None,
        f"{got:.3g} against {chance:.3g}",
        [("score over three folds", got, f"above {chance:.3g}"), ("the same with permuted labels", chance, "chance")],
    )
