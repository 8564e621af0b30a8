import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor

rng = np.random.default_rng(8)
n = 700
wells = pd.DataFrame({"well": np.arange(n) + 5000, "depth": rng.uniform(5, 200, n), "ph": rng.normal(7, 0.6, n), "iron": rng.gamma(2, 1, n)})
wells["arsenic"] = wells.depth * 0.02 + wells.iron + rng.normal(0, 1, n)
exports = [wells[:400], wells[250:]]


def load(parts):
    table = pd.concat(parts, ignore_index=True)
    return table.drop_duplicates("well").set_index("well")


table = load(exports)
y = table.pop("arsenic")
X_fit, X_test, y_fit, y_test = train_test_split(table, y, random_state=0)
print(KNeighborsRegressor(3, weights="distance").fit(X_fit, y_fit).score(X_test, y_test))
