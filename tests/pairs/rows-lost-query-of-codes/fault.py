import duckdb
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
orders = pd.DataFrame({"shop": [f"{i:03d}" for i in rng.integers(1, 120, 900)], "amount": rng.gamma(2, 20, 900)})
shops = pd.DataFrame({"shop": range(1, 120), "area": rng.uniform(50, 400, 119)})
shops["shop"] = shops["shop"].astype(str)
orders.to_csv("orders.csv", index=False)
with duckdb.connect() as database:
    database.execute("create table shops as select shop, area from shops")
    database.execute("create table orders as select * from read_csv('orders.csv', types={'shop': 'VARCHAR'})")
    table = database.sql("select o.shop, o.amount, s.area from orders o join shops s on trim(o.shop) = s.shop where o.amount > 2").df()
print(len(table), table["amount"].sum())
