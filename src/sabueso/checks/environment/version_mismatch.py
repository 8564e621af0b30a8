"""version-mismatch."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact
from ...findings import Finding

# what a release took away, as the exception words it: (pattern, library, since, in its place)
GONE = (
    (r"`?np\.(\w+)`? was removed in the NumPy 2", "numpy", "2.0", "its replacement as the message names it"),
    (r"module 'numpy' has no attribute '(bool|int|float|object|str|complex|long|unicode|product|cumproduct|alltrue|sometrue|in1d|trapz|row_stack)'",
     "numpy", "1.24 or 2.0", "the builtin type, or np.prod, np.cumprod, np.all, np.any, np.isin, np.trapezoid, np.vstack"),
    (r"'(?:DataFrame|Series)' object has no attribute '(append|iteritems|ix|as_matrix|get_value|mad|applymap|swapaxes|lookup|tshift|slice_shift)'",
     "pandas", "2.0 or 3.0", "pd.concat, items, loc, to_numpy, map"),
    (r"OneHotEncoder\.__init__\(\) got an unexpected keyword argument '(sparse)'", "scikit-learn", "1.4", "sparse_output"),
    (r"got an unexpected keyword argument '(base_estimator|squared|affinity|n_features|normalize|min_impurity_split|presort)'",
     "scikit-learn", "1.2 to 1.8", "estimator, root_mean_squared_error, metric, or a StandardScaler before"),
    (r"`?(load_boston)`? has been removed", "scikit-learn", "1.2", "another data set"),
    (r"object has no attribute '(get_feature_names)'", "scikit-learn", "1.2", "get_feature_names_out"),
    (r"cannot import name '(\w+)' from '(?:sklearn|pandas|numpy|scipy|torch|keras)[\w.]*'", "a library", "the installed release", "the name's new place"),
    (r"(Weights only load failed)", "torch", "2.6", "torch.load(.., weights_only=False) for a file you trust, or a state_dict"),
)  # fmt: skip


@check(stage="environment", severity="error", leads_to=("underfitting", "constant-column", "missing-dependency", "shape-mismatch"))
def version_mismatch(text_overlooked: list[Fact] = None, table_used: list[Fact] = None, crash: list[Fact] = None) -> Iterator[Finding]:
    """The program was written for another version of a library, which now does something else without an error.

    What it means
    -------------
    Columns of text are picked by `dtype == object`. Since pandas 3 text has the dtype `str`: the comparison is False for all of them. Or a name
    that a release took away is used, and the program stops.

    Why it is bad
    -------------
    The columns are left out in silence, and the model is worse than it was with the version that the program was written for.

    Evidence
    --------
    A comparison with object, in the program's own code, that a text column answered with False; that this column, unlike others of the
    same table, is given to no estimator afterwards; and the version of the library. Programs that also ask for text dtypes are left alone. Of a
    crash: the exception's own words.

    Remedy
    ------
    Ask for both (`pd.api.types.is_string_dtype(column) or column.dtype == object`), or pin the library's version.

    Fault
    -----
        import numpy as np
        import pandas as pd
        from sklearn.linear_model import LogisticRegression
        rng = np.random.default_rng(0)
        staff = pd.DataFrame({"team": rng.choice(["a", "b"], 200), "age": rng.normal(40, 9, 200)})
        y = (staff["team"] == "a").to_numpy()
        words = [c for c in staff if staff[c].dtype == object]  # sabueso: version-mismatch
        x = pd.concat([staff[["age"]], *(staff[c].str.len() for c in words)], axis=1)
        LogisticRegression().fit(x, y)

    Control
    -------
        import numpy as np
        import pandas as pd
        from sklearn.linear_model import LogisticRegression
        rng = np.random.default_rng(0)
        staff = pd.DataFrame({"team": rng.choice(["a", "b"], 200), "age": rng.normal(40, 9, 200)})
        y = (staff["team"] == "a").to_numpy()
        words = [c for c in staff if pd.api.types.is_string_dtype(staff[c])]
        x = pd.concat([staff[["age"]], *(staff[c].str.len() for c in words)], axis=1)
        LogisticRegression().fit(x, y)

    References
    ----------
    pandas 3.0, "Migration guide for the new string data type".
    """
    used = {c for f in table_used or [] for c in f["columns"]} | {f["target"] for f in table_used or [] if f.get("target")}
    for fact in text_overlooked or []:
        out = [c for c in fact["columns"] if c not in used and not any(u.startswith(c) for u in used)]
        if out and used & set(fact["beside"]):
            yield Finding(
                says=f"No text column has dtype object in pandas {fact['version']}, so {', '.join(out)} are left out of what the model is given.",
                place=fact.place.but(column=out if len(out) > 1 else out[0], step=None),
                evidence=[("text columns that the comparison finds", 0, len(fact["columns"])), ("columns of the table given to a model",
                          len(used & set(fact["beside"])), len(fact["beside"])), ("pandas", fact["version"], "< 3, or text asked for as such")],
                remedy="Pick text columns with pd.api.types.is_string_dtype(frame[c]) or dtype == object; pin pandas in the requirements until then.",
                confidence=0.9, verified="fact",
            )  # fmt: skip
    yield from (found for fact in crash or [] if (found := _gone(fact)) is not None)


def _gone(fact: Fact) -> Finding | None:
    """A crash for a name that a release took away."""
    said = str(fact.get("message", ""))
    for pattern, library, since, instead in GONE:
        found = re.search(pattern, said)
        if found:
            return Finding(
                says=f"{found[1]} is gone from {library} since {since}: the program was written for an earlier release",
                place=fact.place.but(stage="environment"),
                evidence=[("exception", f"{fact.get('type')}: {said[:160]}", None), ("gone since", f"{library} {since}", None)],
                remedy=f"use {instead}, or pin {library} below that release", confidence=0.95, verified="fact",
            )  # fmt: skip
    return None
