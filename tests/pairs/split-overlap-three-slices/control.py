import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(0)
X = torch.randn(600, 12)
y = (X[:, :3].sum(1) + 0.5 * torch.randn(600) > 0).long()
whole = TensorDataset(X, y)


def cut(held):
    order = torch.randperm(len(whole), generator=torch.Generator().manual_seed(1))
    learn = order[: -2 * held]
    tune = order[-held:]
    last = order[-2 * held : -held]
    return [Subset(whole, part.tolist()) for part in (learn, tune, last)]


learn, tune, last = cut(90)
net = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(net.parameters(), 5e-3)


@torch.no_grad()
def right(part):
    return sum((net(a).argmax(1) == b).sum().item() for a, b in DataLoader(part, 64)) / len(part)


for epoch in range(8):
    for a, b in DataLoader(learn, 32, shuffle=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(a), b).backward()
        optimizer.step()
    print(epoch, right(tune))
print(right(last))
