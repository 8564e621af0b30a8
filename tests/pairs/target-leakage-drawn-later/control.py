import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score


def members(n, seed):
    rng = np.random.default_rng(seed)
    late, months = rng.poisson(1.5, n), rng.gamma(3, 9, n)
    left = rng.random(n) < 1 / (1 + np.exp(2 - 0.7 * late + 0.03 * months))
    visits = rng.poisson(12, n) - 2 * left
    return np.column_stack([late, months, visits]).astype(float), left.astype(int)


x, left = members(2000, 1)
model = HistGradientBoostingClassifier(max_iter=30).fit(x, left)
x, left = members(600, 2)
print(roc_auc_score(left, model.predict_proba(x)[:, 1]))
