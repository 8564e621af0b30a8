import numpy as np
from sklearn.linear_model import Lasso, LinearRegression
from sklearn.model_selection import train_test_split
r=np.random.default_rng(0); X=r.normal(size=(150,300)); y=X[:,:3]@[1,1,1]+r.normal(0,1.5,150)
lasso=Lasso(alpha=.15).fit(X,y)
keep=np.flatnonzero(lasso.coef_)
print(len(keep))
a,b,c,d=train_test_split(X[:,keep],y,test_size=.3,random_state=0)
print(LinearRegression().fit(a,c).score(b,d))
