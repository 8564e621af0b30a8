import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
x = torch.randn(500, 12)
whole = TensorDataset(x, (x[:, 0] + 0.5 * torch.randn(500) > 0).long())


def parts():
    return random_split(whole, [300, 100, 100])


@torch.no_grad()
def score(net, part):
    return torch.cat([net(a).argmax(1) == b for a, b in DataLoader(part, 50)]).float().mean().item()


net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), 1e-2)
train, watched, _ = parts()
for epoch in range(4):
    for a, b in DataLoader(train, 25, shuffle=True):
        loss = nn.functional.cross_entropy(net(a), b)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, score(net, watched))
_, _, test = parts()
print(score(net, test))
