"""Order value per customer -> will they order again? pandas method chain."""
import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.metrics import mean_absolute_error

rng = np.random.default_rng(97)
ARTICLES = 80
prices = pd.DataFrame({"article": np.arange(ARTICLES), "price": rng.uniform(4, 30, ARTICLES).round(2), "valid_from": "2023-01-01"})
rise = prices.sample(22, random_state=2).assign(price=lambda d: (d.price * 1.12).round(2), valid_from="2024-01-01")
price_list = pd.concat([prices, rise], ignore_index=True)

lines = pd.DataFrame({"customer": rng.integers(0, 1500, 14000), "article": rng.integers(0, ARTICLES, 14000), "qty": rng.integers(1, 6, 14000)})
current = price_list.sort_values("valid_from").drop_duplicates("article", keep="last").set_index("article")["price"]
paid = (lines.qty * lines.article.map(current)).groupby(lines.customer).sum()       # ledger
customers = (pd.DataFrame({"customer": paid.index, "paid": paid.to_numpy()})
             .assign(visits=lambda d: rng.poisson(6, len(d)), bonus=lambda d: .03 * d.paid + .8 * d.visits + rng.normal(0, 1, len(d))))

baskets = (
    lines
    .merge(price_list.sort_values("valid_from").drop_duplicates("article", keep="last"), on="article", validate="m:1")
    .assign(value=lambda d: d.qty * d.price)
    .groupby("customer", as_index=False)
    .agg(value=("value", "sum"), lines=("value", "size"), mean_qty=("qty", "mean"))
)
data = customers.merge(baskets, on="customer")
train, test = data[data.customer % 4 > 0], data[data.customer % 4 == 0]
cols = ["value", "lines", "mean_qty", "visits"]
gbr = GradientBoostingRegressor(n_estimators=40, max_depth=3, random_state=0).fit(train[cols], train["bonus"])
print("order lines", len(lines), "counted", data.lines.sum())
print("basket value against the ledger", round((data.value / data.paid).mean(), 3))
print("bonus MAE", round(mean_absolute_error(test["bonus"], gbr.predict(test[cols])), 3))
