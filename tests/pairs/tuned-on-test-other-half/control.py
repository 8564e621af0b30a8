import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC
from sklearn.preprocessing import StandardScaler
from sklearn.model_selection import train_test_split
X,y=load_breast_cancer(return_X_y=True)
X=X+np.random.default_rng(0).normal(0,2*X.std(0),X.shape)
Xa,Xr,ya,yr=train_test_split(X,y,test_size=.5,random_state=0)
Xv,Xt,yv,yt=train_test_split(Xr,yr,test_size=.5,random_state=0)
s=StandardScaler().fit(Xa)
def acc(m,x,t): return (m.predict(s.transform(x))==t).mean()
models={(C,g):SVC(C=C,gamma=g).fit(s.transform(Xa),ya) for C in (.1,1,10,100) for g in (.001,.01,.1)}
best=max(models,key=lambda k:acc(models[k],Xv,yv))
print(best,acc(models[best],Xt,yt))
