import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

torch.manual_seed(0)
X = torch.randn(600, 12)
y = (X[:, :3].sum(1) + 0.5 * torch.randn(600) > 0).long()
order = np.random.default_rng(0).permutation(600)
parts = {"learn": order[:450], "tune": order[450:520]}
parts["last"] = order[400:]
whole = TensorDataset(X, y)
loaders = {name: DataLoader(whole, 50, sampler=SubsetRandomSampler(rows.tolist())) for name, rows in parts.items()}
net = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(net.parameters(), 5e-3)


@torch.no_grad()
def right(loader):
    return sum((net(a).argmax(1) == b).sum().item() for a, b in loader)


for epoch in range(6):
    for a, b in loaders["learn"]:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(a), b).backward()
        optimizer.step()
    print(epoch, right(loaders["tune"]), right(loaders["learn"]))
print(right(loaders["last"]))
