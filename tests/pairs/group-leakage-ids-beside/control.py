import numpy as np
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

rng = np.random.default_rng(1)
rows, sick, walker = [], [], []
for w in range(40):
    gait = rng.normal(size=6)
    label = int(gait[0] + rng.normal() > 0)
    for _ in range(12):
        rows.append(gait + 0.2 * rng.normal(size=6))
        sick.append(label)
        walker.append(w)
X, y, walker = np.array(rows), np.array(sick), np.array(walker)
folds = GroupKFold(5)
print(cross_val_score(KNeighborsClassifier(3), X, y, cv=folds, groups=walker).mean(), len(set(walker.tolist())))
