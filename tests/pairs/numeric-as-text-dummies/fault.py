"""Distances with their unit, one-hot encoded or read."""

import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge

rng = np.random.default_rng(1)
km = rng.gamma(2, 20, 500)
pd.DataFrame({"km": [f"{v:.1f} km" for v in km], "zone": rng.choice(list("abc"), 500), "cost": km * 0.3 + rng.normal(size=500)}).to_csv("ways.csv", index=False)
ways = pd.read_csv("ways.csv")

x = pd.get_dummies(ways[["km", "zone"]])
print(Ridge().fit(x, ways["cost"]).score(x, ways["cost"]))
