import numpy as np, pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
rng=np.random.default_rng(8)
n=2500
t=pd.DataFrame({"shop":rng.integers(0,700,n),"x":rng.normal(size=n)}); t["back"]=(rng.random(n)<.3+.1*(t.x>0)).astype(int)
# laplace
a,b=train_test_split(t,test_size=.3,random_state=1)
ok=a.groupby("shop").back.sum(); nn=a.groupby("shop").back.size()
a=a.assign(quote=(a.shop.map(ok)-a.back+1)/(a.shop.map(nn)+1)); b=b.assign(quote=b.shop.map((ok+1)/(nn+2)).fillna(.5))
m=LogisticRegression().fit(a[["x","quote"]],a.back); print(m.score(b[["x","quote"]],b.back))
