"""Kinds of fault that share a check with another, each beside healthy programs that look like it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from programs import told, watched

FROZEN = """
    import torch
    from torch import nn
    torch.manual_seed(0)
    x = torch.randn(200, 6)
    y = (x.sum(1) > 0).long()
    net = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
    opt = torch.optim.Adam(net[3].parameters(), lr=0.01)
    for name, p in net.named_parameters():
        p.requires_grad = name.startswith({kept})
    for step in range(30):
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
"""
XOR = """
    import torch
    from torch import nn
    torch.manual_seed(0)
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = torch.tensor([0, 1, 1, 0])
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = torch.optim.Adam(net.parameters(), lr={rate})
    for step in range(300):
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
"""
GROUPS = """
    import numpy as np
    import pandas as pd
    from sklearn.linear_model import LinearRegression
    rng = np.random.default_rng(0)
    shop = rng.integers(0, 300, 3000)
    days = pd.DataFrame({{"shop": shop, "area": (50 + shop).astype(float), "sold": 2.0 * shop + rng.normal(0, 9, 3000)}})
    days["chain"] = np.where(shop % 10 < 7, "north", None)
    days.loc[shop % 10 >= 7, "area"] *= 3
    table = days.groupby(["shop", "chain"], as_index=False{kept}).agg(area=("area", "first"), sold=("sold", "sum"))
    print(LinearRegression().fit({fed}[["area"]], {fed}["sold"]).coef_)
"""
SHIFTED = """
    import numpy as np
    import pandas as pd
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.metrics import mean_absolute_error
    rng = np.random.default_rng(0)
    wind = pd.Series(8 + np.convolve(rng.normal(size=1500), np.ones(12), "same"), name="wind")
    x = pd.DataFrame({{"wind": wind, "before": wind.shift(2), "pressure": rng.normal(size=1500)}})
    y = wind.shift(-3)
    fine = x.notna().all(axis=1) & y.notna()
    x, y = x[fine], y[fine]
    model = HistGradientBoostingRegressor(max_iter=20, random_state=0).fit(x[:900], y[:900])
    print(mean_absolute_error(y[1000:1400], model.predict(x[1000:1400])))
"""


@pytest.mark.parametrize(
    ("program", "filled", "check"),
    [
        pytest.param(FROZEN, {"kept": "'1.'"}, "frozen-parameters", id="all-that-is-held-is-frozen"),
        pytest.param(FROZEN, {"kept": "('1.', '3.')"}, None, id="a-head-on-a-frozen-body"),
        pytest.param(XOR, {"rate": 1e-5}, "not-learning", id="four-rows-not-learnt"),
        pytest.param(XOR, {"rate": 0.05}, None, id="four-rows-learnt"),
        pytest.param(GROUPS, {"kept": "", "fed": "table"}, "rows-lost", id="groups-without-key"),
        pytest.param(GROUPS, {"kept": ", dropna=False", "fed": "table"}, None, id="groups-kept"),
        pytest.param(GROUPS, {"kept": "", "fed": "days"}, None, id="groups-looked-at-only"),
        pytest.param(SHIFTED, {}, None, id="a-shifted-target-keeps-its-name"),
    ],
)
def test_kind(program: str, filled: dict[str, object], check: str | None, tmp_path: Path) -> None:
    (tmp_path / "kind.py").write_text(textwrap.dedent(program).format(**filled))
    diagnosis = watched(tmp_path / "kind.py")
    assert [c["check"] for c in diagnosis["culprits"]][:1] == [check] * bool(check) and not diagnosis["own_errors"], told(diagnosis)
