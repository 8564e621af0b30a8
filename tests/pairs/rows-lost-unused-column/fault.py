"""Members' fees; the fax number is asked for, but nothing is learnt from it."""

import numpy as np
import polars as pl
from sklearn.linear_model import Ridge

rng = np.random.default_rng(1)
age = rng.uniform(20, 80, 900)
fax = [None if a < 50 and rng.random() < 0.9 else "yes" for a in age]
members = pl.DataFrame({"age": age, "income": rng.normal(3000, 500, 900), "fax": fax, "fee": age * 2 + rng.normal(0, 5, 900)})
members = members.drop_nulls()
x, y = members.select("age", "income").to_numpy(), members["fee"].to_numpy()
print(Ridge().fit(x, y).score(x, y))
