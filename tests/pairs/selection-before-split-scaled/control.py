"""Responder or not, 90 patients, 4000 probes. Numpy only up to the classifier."""
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold

rng = np.random.default_rng(103)
n, probes, keep = 90, 1500, 25
X = rng.normal(size=(n, probes))
y = np.repeat([0, 1], n // 2)
X[y == 1, :6] += .9                     # six probes with a real effect


def top_probes(values, answer):
    c = values - values.mean(0)
    t = answer - answer.mean()
    r = (c * t[:, None]).sum(0) / np.sqrt((c ** 2).sum(0) * (t ** 2).sum())
    return np.argsort(-np.abs(r))[:keep]


hits = []
for train, test in RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0).split(X, y):
    chosen = top_probes(X[train], y[train])
    mu, sd = X[train][:, chosen].mean(0), X[train][:, chosen].std(0)
    z = (X[:, chosen] - mu) / sd
    clf = LogisticRegression(C=.1).fit(z[train], y[train])
    hits.append((clf.predict(z[test]) == y[test]).mean())
print(f"accuracy {np.mean(hits):.3f} +- {np.std(hits):.3f}, real probes among the chosen: {np.sum(chosen < 6)}")
