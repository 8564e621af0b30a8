"""The next step of a walk from the last ones; steps were written down in no order."""

import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge

rng = np.random.default_rng(1)
walk = pd.DataFrame({"step": np.arange(700), "value": np.cumsum(rng.normal(size=700))})
walk.sample(frac=1, random_state=0).to_csv("walk.csv", index=False)
walk = pd.read_csv("walk.csv", dtype={"step": int}).sort_values("step")
walk["before"] = walk["value"].shift(1)
walk = walk.dropna()
print(Ridge().fit(walk[["before"]], walk["value"]).score(walk[["before"]], walk["value"]))
