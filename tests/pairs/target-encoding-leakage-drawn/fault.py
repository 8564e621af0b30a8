import numpy as np, pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
rng=np.random.default_rng(8)
n=2500
t=pd.DataFrame({"shop":rng.integers(0,700,n),"x":rng.normal(size=n)}); t["back"]=(rng.random(n)<.3+.1*(t.x>0)).astype(int)
# laplace
ok=t.groupby("shop").back.sum(); nn=t.groupby("shop").back.size()
t["quote"]=t.shop.map((ok+1)/(nn+2))
a,b=train_test_split(t,test_size=.3,random_state=1)
m=LogisticRegression().fit(a[["x","quote"]],a.back); print(m.score(b[["x","quote"]],b.back))
