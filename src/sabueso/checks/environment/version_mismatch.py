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


@check(stage="environment", severity="error", leads_to=("missing-values", "rows-lost", "missing-dependency", "shape-mismatch", "underfitting"))
def version_mismatch(text_type: list[Fact] = None, table_used: list[Fact] = None, inputs: list[Fact] = None, crash: list[Fact] = None) -> Iterator[Finding]:
    """The program was written for another release of a library than the one installed.

    What it means
    -------------
    A release changed what a line does: a name is gone, or (pandas 3) text columns are of type `str` and no longer of type `object`.

    Why it is bad
    -------------
    At best the program stops. At worst it goes on: columns chosen by `dtype == object` are left out without an error.

    Evidence
    --------
    Text columns whose type was compared with `object` (false since pandas 3) and that then reached no fit; or the exception of a name that a
    release took away.

    Remedy
    ------
    Choose text columns by `pd.api.types.is_string_dtype` or `select_dtypes(include=["object", "str"])`; pin the release in the requirements.

    Fault
    -----
        import numpy as np
        import pandas as pd
        from sklearn.linear_model import LinearRegression
        rng = np.random.default_rng(0)
        table = pd.DataFrame({"area": rng.uniform(20, 90, 200), "town": rng.choice(["Ulm", "Bonn"], 200)})
        rent = 10 * table["area"] + 300 * (table["town"] == "Ulm")
        words = [c for c in table.columns if table[c].dtype == object]  # sabueso: version-mismatch
        numbers = [c for c in table.columns if pd.api.types.is_numeric_dtype(table[c])]
        x = pd.get_dummies(table[numbers + words], columns=words)
        print(LinearRegression().fit(x, rent).score(x, rent))

    Control
    -------
        import numpy as np
        import pandas as pd
        from sklearn.linear_model import LinearRegression
        rng = np.random.default_rng(0)
        table = pd.DataFrame({"area": rng.uniform(20, 90, 200), "town": rng.choice(["Ulm", "Bonn"], 200)})
        rent = 10 * table["area"] + 300 * (table["town"] == "Ulm")
        words = [c for c in table.columns if pd.api.types.is_string_dtype(table[c])]
        numbers = [c for c in table.columns if pd.api.types.is_numeric_dtype(table[c])]
        x = pd.get_dummies(table[numbers + words], columns=words)
        print(LinearRegression().fit(x, rent).score(x, rent))

    References
    ----------
    pandas documentation, migration guide for the new string data type.
    """
    used = {str(c) for f in table_used or [] for c in [*(f.get("columns") or []), f.get("target")]}
    used |= {str(c) for f in inputs or [] for c in f.get("names") or []}
    for fact in text_type or []:
        lost = [c for c in fact["columns"] if c not in used and not any(u.startswith((f"{c}_", f"{c}=", f"{c}__")) for u in used)]
        if lost and used and len(lost) == len(fact["columns"]):
            yield Finding(
                says=f"pandas {fact['pandas']} gives {', '.join(lost[:4])} the type str, so `dtype == object` is false for "
                f"{'it' if len(lost) == 1 else 'them'}: no model is given {'this column' if len(lost) == 1 else 'these columns'}",
                place=fact.place.but(column=lost, stage="environment"),
                evidence=[("text columns compared with object", fact["columns"][:10], None), ("of these given to a fit", 0, len(lost)),
                          ("pandas installed", fact["pandas"], "< 3")],
                remedy='choose text columns with pd.api.types.is_string_dtype(frame[c]) (or select_dtypes(include=["object", "str"]))',
                confidence=0.93, verified="fact",
            )  # fmt: skip
    for fact in crash or []:
        for pattern, library, since, instead in GONE:
            found = re.search(pattern, str(fact.get("message", "")))
            if found:
                yield Finding(
                    says=f"{found[1]} is gone from {library} since {since}: the program was written for an earlier release",
                    place=fact.place.but(stage="environment"),
                    evidence=[("exception", f"{fact.get('type')}: {str(fact.get('message'))[:160]}", None), ("gone since", f"{library} {since}", None)],
                    remedy=f"use {instead}, or pin {library} below that release", confidence=0.95, verified="fact",
                )  # fmt: skip
                break
