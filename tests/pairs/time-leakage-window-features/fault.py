import numpy as np, pandas as pd
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
r=np.random.default_rng(3); T=3000
flow=np.cumsum(r.normal(0,1,T))*.1+np.sin(np.arange(T)/20)
windows=np.array([flow[i:i+48] for i in range(0,T-60,4)])
table=pd.DataFrame({"mean":windows.mean(1),"sd":windows.std(1),"last":windows[:,-1],"trend":windows[:,-1]-windows[:,0],"hi":windows.max(1)})
y=np.array([flow[i+48:i+60].mean() for i in range(0,T-60,4)])
a,b,c,d=train_test_split(table,y,test_size=.2,random_state=0)
print(Ridge().fit(a,c).score(b,d))
