"""version-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="environment", severity="error", leads_to=("underfitting", "constant-column"))
def version_mismatch(text_overlooked: list[Fact], table_used: list[Fact]) -> Iterator[Finding]:
    """The program was written for another version of a library, which now does something else without an error.

    What it means
    -------------
    Columns of text are picked by `dtype == object`. Since pandas 3 text has the dtype `str`: the comparison is False for all of them.

    Why it is bad
    -------------
    The columns are left out in silence, and the model is worse than it was with the version that the program was written for.

    Evidence
    --------
    A comparison with object, in the program's own code, that a text column answered with False; that this column, unlike others of the
    same table, is given to no estimator afterwards; and the version of the library. Programs that also ask for text dtypes are left alone.

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
    used = {c for f in table_used for c in f["columns"]} | {f["target"] for f in table_used if f.get("target")}
    for fact in text_overlooked:
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
