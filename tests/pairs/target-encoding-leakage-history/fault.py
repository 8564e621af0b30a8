import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

rng = np.random.default_rng(0)
n = 4000
t = pd.DataFrame({"month": rng.integers(1, 13, n), "shop": rng.integers(0, 600, n), "amount": rng.gamma(2, 1, n)})
t["back"] = (rng.random(n) < 1 / (1 + np.exp(1 - rng.normal(0, 0.9, 600)[t["shop"]] - 0.2 * t.amount))).astype(int)
known = t
rates = known.groupby("shop").back.mean().rename("rate").reset_index()
t = t.merge(rates, on="shop", how="left").fillna({"rate": 0.3})
fit, test = t[t.month.between(5, 8)], t[t.month == 9]
inputs = ["amount", "rate"]
model = LogisticRegression().fit(fit[inputs], fit.back)
print(model.score(test[inputs], test.back))
