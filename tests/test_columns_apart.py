"""Bare arrays of two tables with the same columns in another order: known by the tables at hand, row by row."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from programs import told, watched

PROGRAM = """
    import numpy as np
    import pandas as pd
    from sklearn.linear_model import Ridge

    def table(n, columns):
        df = pd.DataFrame({{"kind": rng.choice(["a", "b", "c"], n), "size": rng.integers(1, 40, n), "wet": rng.random(n) < 0.4}})
        df["price"] = df["size"] + df["kind"].map({{"a": 0, "b": 20, "c": 50}}) + 9 * df["wet"] + rng.normal(0, 2, n)
        return df[[*columns, "price"]]

    rng = np.random.default_rng(0)
    past, new = table(400, ["kind", "size", "wet"]), table(120, ["wet", "kind", "size"])
    x = pd.get_dummies(past.drop(columns="price"), dtype=float)
    fed = pd.get_dummies(new.drop(columns="price"), dtype=float){ordered}
    model = Ridge().fit(x.to_numpy(dtype=float), past["price"])
    print(np.abs(model.predict(fed.to_numpy(dtype=float)) - new["price"]).mean())
"""


@pytest.mark.parametrize(("ordered", "wrong"), [("", True), ("[x.columns]", False)])
def test_yes_and_no_columns_that_stand_elsewhere(ordered: str, wrong: bool, tmp_path: Path) -> None:
    (tmp_path / "offer.py").write_text(textwrap.dedent(PROGRAM).format(ordered=ordered))
    diagnosis = watched(tmp_path / "offer.py")
    assert [c["check"] for c in diagnosis["culprits"]] == ["feature-order"] * wrong, told(diagnosis)
    assert not wrong or diagnosis["culprits"][0]["place"]["line"] == 16, told(diagnosis)
