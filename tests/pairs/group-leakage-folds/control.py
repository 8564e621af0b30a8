import numpy as np, pandas as pd
from sklearn.svm import SVC
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.model_selection import cross_val_score, KFold, GroupKFold
rng=np.random.default_rng(0)
rows=[]
for p in range(36):
    s=rng.integers(0,2); c=rng.normal(0,1,10)+.4*s
    for k in range(15): rows.append([f"P{p:02}",*(c+rng.normal(0,.25,10)),s])
t=pd.DataFrame(rows,columns=["pig",*[f"m{i}" for i in range(10)],"sick"])
X=t.drop(columns=["pig","sick"]).to_numpy(); y=t["sick"].to_numpy()
print(cross_val_score(make_pipeline(StandardScaler(),SVC()),X,y,groups=t.pig,cv=GroupKFold(6)).mean())
