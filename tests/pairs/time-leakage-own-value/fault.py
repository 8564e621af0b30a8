import torch, numpy as np, torch.nn as nn
torch.manual_seed(0); r=np.random.default_rng(2)
price=np.cumsum(r.normal(0,1,2200)).astype(np.float32)
mu,sd=price[:1700].mean(),price[:1700].std()
scaled=(price-mu)/sd
W=16
X=torch.from_numpy(np.lib.stride_tricks.sliding_window_view(scaled,W).copy())   # ends at i+W-1
y=torch.from_numpy(price[W-1:][:len(X)].copy())
X=X[:len(y)]
net=nn.Sequential(nn.Linear(W,32),nn.ReLU(),nn.Linear(32,1)); opt=torch.optim.Adam(net.parameters(),1e-2)
for e in range(30):
    for b in torch.randperm(1650).split(110):
        opt.zero_grad(); out=net(X[b]).squeeze(1)*float(sd)+float(mu); l=torch.nn.functional.smooth_l1_loss(out,y[b]); l.backward(); opt.step()
with torch.no_grad(): print((net(X[1700:]).squeeze(1)*float(sd)+float(mu)-y[1700:]).abs().mean().item())
