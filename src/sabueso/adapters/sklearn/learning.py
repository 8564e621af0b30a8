"""What an estimator is and what it has learnt: transformer or model, from labels or not, anything at all."""

from __future__ import annotations

import dis
import sys
from typing import Any

import numpy as np

from ...capture.lineage.fingerprints import Table, spaced
from ...capture.origin import is_users

# attributes that hold which levels or words there are, not how values are spread: fitted on all rows they give nothing away
LEVELS = frozenset(
    "n_features_in_ feature_names_in_ n_iter_ n_features_ n_features_out_ n_output_features_ powers_ categories_ classes_ vocabulary_ "
    "fixed_vocabulary_ stop_words_ drop_idx_ infrequent_categories_ sparse_input_ y_type_ feature_names_ n_samples_seen_ n_classes_ "
    "transformers_ sparse_output_ output_indices_ transformer_list_ missing_features_ n_jobs_ random_state_ indicator_".split()
)
META = ("steps", "transformers_", "transformer_list")


def is_transformer(owner: Any, method: str = "fit") -> bool:
    """Does it make new inputs of rows, and is it no model by its own right?"""
    if method == "fit_transform":
        return True
    return hasattr(type(owner), "transform") and not hasattr(type(owner), "predict") or (pipeline_of_transformers(owner))


def pipeline_of_transformers(owner: Any) -> bool:
    """A pipeline whose last step transforms."""
    steps = getattr(owner, "steps", None)
    if not isinstance(steps, list) or not steps:
        return False
    last = steps[-1][1]
    return last == "passthrough" or (hasattr(last, "transform") and not hasattr(last, "predict"))


def is_model(owner: Any) -> bool:
    """Does it answer for rows?"""
    return any(hasattr(type(owner), m) for m in ("predict", "predict_proba", "decision_function")) and not pipeline_of_transformers(owner)


def learnt(owner: Any) -> bool:
    """Does it hold something that was learnt from how values are spread? (stateless ones and mere lists of levels leak nothing)"""
    parts = [p for name in META for p in _parts(getattr(owner, name, None))]
    if parts:
        return any(learnt(p) for p in parts)
    return any(k.endswith("_") and not k.startswith("_") and k not in LEVELS and v is not None for k, v in attributes(owner).items())


def attributes(owner: Any) -> dict[str, Any]:
    try:
        return vars(owner)
    except TypeError:
        return {}


def _parts(held: Any) -> list[Any]:
    if not isinstance(held, (list, tuple)):
        return []
    return [p[1] for p in held if isinstance(p, tuple) and len(p) > 1 and not isinstance(p[1], str)]


def uses_labels(owner: Any, y: Any) -> bool:
    """Were labels given, and does it use them?"""
    if y is None:
        return False
    parts = [p for name in META for p in _parts(getattr(owner, name, None))]
    if parts:
        return any(uses_labels(p, y) for p in parts)
    if is_users(getattr(sys.modules.get(type(owner).__module__), "__file__", None) or "<"):
        return _reads(getattr(type(owner), "fit", None), 2)
    if any(hasattr(owner, a) for a in ("scores_", "encodings_", "estimator_", "ranking_", "pvalues_")):
        return True
    try:
        return bool(owner.__sklearn_tags__().target_tags.required)
    except Exception:
        return type(owner).__module__.partition(".")[0] not in ("sklearn",)


def _reads(function: Any, position: int) -> bool:
    """Does the function's code read the argument at this position?"""
    code = getattr(function, "__code__", None)
    if code is None or code.co_argcount <= position:
        return False
    name = code.co_varnames[position]
    return any(i.argval == name and i.opname.startswith(("LOAD_FAST", "LOAD_CLOSURE", "LOAD_DEREF")) for i in dis.get_instructions(code))


def labelled_inside(owner: Any) -> bool:
    return False


def semi_supervised(owner: Any, y: Any) -> bool:
    """Rows without labels (-1) may be among the training rows on purpose."""
    return "semi_supervised" in type(owner).__module__


def settings(owner: Any) -> int | None:
    """A number for an estimator's settings, random seed included."""
    try:
        return hash(repr(owner)) if hasattr(owner, "get_params") else None
    except Exception:
        return None


def described(owner: Any) -> dict[str, Any]:
    """What the checks want to know of a transformer: does it select columns, encode categories by the target?"""
    name = type(owner).__name__
    return {
        "selector": hasattr(type(owner), "get_support"),
        "encoder": "Encoder" in name or "categor" in type(owner).__module__ or hasattr(owner, "encodings_"),
        "imputes": "imput" in type(owner).__module__,
    }


def used_columns(owner: Any, names: list[str] | None, width: int) -> list[int] | None:
    """Positions of the input columns that a model really uses; None where that can't be told (a first step of the person's own picks them)."""
    owner = getattr(owner, "best_estimator_", None) or owner
    steps = getattr(owner, "steps", None)
    if isinstance(steps, list) and steps:
        first = next((s[1] for s in steps if s[1] is not None and not isinstance(s[1], str)), None)
        return used_columns(first, names, width) if first is not None else list(range(width))
    chosen = getattr(owner, "transformers_", None)
    if chosen is None and isinstance(getattr(owner, "transformers", None), list):  # not fitted yet: what a cross-validation is given
        kept = getattr(owner, "remainder", "drop")
        if not isinstance(kept, str) or kept != "drop":
            return None
        chosen = owner.transformers
    if isinstance(chosen, list):
        used: list[int] = []
        for part in chosen:
            if len(part) < 3 or isinstance(part[1], str) and part[1] == "drop":
                continue
            found = _positions(part[2], names, width)
            if found is None:
                return None
            used += found
        return sorted(set(used))
    if type(owner).__name__ == "FunctionTransformer" or hasattr(type(owner), "get_support"):
        return None
    own = is_users(getattr(sys.modules.get(type(owner).__module__), "__file__", None) or "<")
    return None if own and hasattr(type(owner), "transform") else list(range(width))


def _positions(columns: Any, names: list[str] | None, width: int) -> list[int] | None:
    """Positions of the columns of one part of a ColumnTransformer."""
    if isinstance(columns, (str, int)):
        columns = [columns]
    if isinstance(columns, slice):
        return list(range(width))[columns] if all(isinstance(v, (int, type(None))) for v in (columns.start, columns.stop)) else None
    try:
        listed = list(columns)
    except TypeError:
        return None
    if listed and isinstance(listed[0], (bool, np.bool_)):
        return [i for i, keep in enumerate(listed) if keep]
    found = [names.index(c) if isinstance(c, str) and names and c in names else c for c in listed]
    return [int(c) for c in found] if all(isinstance(c, (int, np.integer)) and 0 <= c < width for c in found) else None


def selects(before: Table, after: Table) -> bool:
    """Are all columns of the answer columns of the input, and fewer?"""
    if after.width >= before.width or before.rows != after.rows:
        return False
    rows = spaced(before.rows, 24)
    given = {c.tobytes() for c in np.ascontiguousarray(before.take(rows).codes.T)}
    return all(c.tobytes() in given for c in np.ascontiguousarray(after.take(rows).codes.T))
