import numpy as np
import polars as pl
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.model_selection import train_test_split

rng = np.random.default_rng(5)
n = 1200
t = pl.DataFrame({"kwh": rng.gamma(4, 30, n), "people": rng.integers(1, 7, n).astype(float), "cold": rng.normal(200, 60, n)})
t = t.with_columns((pl.col("kwh") * 0.3 + 3 * pl.col("people") + pl.Series(rng.normal(0, 8, n))).alias("bill"))
t = t.with_columns(
    (pl.col("bill").shift(1) / pl.col("people")).round(2).alias("per_head"),
).drop_nulls()
columns = ["people", "cold", "per_head"]
X, y = t.select(columns).to_numpy(), t["bill"].to_numpy()
X_fit, X_test, y_fit, y_test = train_test_split(X, y, random_state=0)
print(ExtraTreesRegressor(20, random_state=0).fit(X_fit, y_fit).score(X_test, y_test))
