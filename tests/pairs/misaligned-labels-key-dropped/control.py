"""Catch weight from trawl logs."""
import lightgbm as lgb
import numpy as np
import polars as pl

rng = np.random.default_rng(31)
n = 2500
log = pl.DataFrame({
    "trip": rng.permutation(n),
    "depth": rng.uniform(20, 400, n),
    "hours": rng.gamma(4, 1.2, n),
    "month": rng.integers(1, 13, n),
    "mesh": rng.choice([80, 100, 120], n),
})
catch = pl.DataFrame({
    "trip": log["trip"],
    "kg": (40 * log["hours"].to_numpy() * np.exp(-((log["depth"].to_numpy() - 180) / 120) ** 2)
           + 15 * np.cos(log["month"].to_numpy() / 12 * 6.28) + rng.normal(0, 12, n)),
})

x = log.sort("trip").with_columns((pl.col("hours") / pl.col("mesh")).alias("effort")).drop("trip")
y = catch.filter(pl.col("trip").is_in(log["trip"].to_list())).sort("trip")["kg"]

cut = 2000
model = lgb.LGBMRegressor(n_estimators=80, learning_rate=.05, num_leaves=15, n_jobs=1, verbose=-1)
model.fit(x[:cut].to_numpy(), y[:cut].to_numpy())
pred = model.predict(x[cut:].to_numpy())
true = y[cut:].to_numpy()
print("R2", round(1 - ((true - pred) ** 2).sum() / ((true - true.mean()) ** 2).sum(), 3), "MAE", round(np.abs(true - pred).mean(), 2))
