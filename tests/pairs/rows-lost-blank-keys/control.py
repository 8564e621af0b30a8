"""Units sold by shop, with the floor of each shop; article numbers come from two tills."""

import numpy as np
import pandas as pd

rng = np.random.default_rng(1)
pd.DataFrame({"sku": [f"A{i}" for i in rng.integers(0, 50, 400)], "sold": rng.poisson(5, 400)}).to_csv("sales.csv", index=False)
pd.DataFrame({"code": [f"A{i}" for i in range(50)], "price": rng.uniform(1, 9, 50)}).to_csv("prices.csv", index=False)
sales, prices = pd.read_csv("sales.csv"), pd.read_csv("prices.csv")
table = pd.merge(sales, prices, left_on="sku", right_on="code")
print((table["sold"] * table["price"]).sum())
