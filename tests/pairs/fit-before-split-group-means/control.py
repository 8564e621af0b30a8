import numpy as np
from sklearn.neighbors import KNeighborsRegressor
rng=np.random.default_rng(5)
n=900; site=rng.integers(0,150,n); lev=rng.normal(0,2,150)
salt=lev[site]+rng.normal(0,.5,n); temp=rng.normal(12,3,n); y=2*salt+.1*temp+rng.normal(0,1,n)
salt[rng.random(n)<.3]=np.nan
order=rng.permutation(n); tr,te=order[:650],order[650:]
filled=salt.copy()
for s in np.unique(site):
    here=site==s; past=salt[tr][site[tr]==s]
    filled[here & np.isnan(salt)] = np.nanmean(past) if np.isfinite(past).any() else np.nanmean(salt[tr])
X=np.column_stack([filled,temp])
m=KNeighborsRegressor(7).fit(X[tr],y[tr]); print(m.score(X[te],y[te]))
