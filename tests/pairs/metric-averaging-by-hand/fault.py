import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(2400, 10)
y = (x[:, 0] + 0.7 * torch.randn(2400) > 1.6).long()
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), 1e-2)
train, judged = DataLoader(TensorDataset(x[:1600], y[:1600]), 40, shuffle=True), DataLoader(TensorDataset(x[1600:], y[1600:]), 20)


def f1(said, y):
    hits = ((said == 1) & (y == 1)).sum()
    precision, recall = hits / ((said == 1).sum() + 1e-9), hits / ((y == 1).sum() + 1e-9)
    return (2 * precision * recall / (precision + recall + 1e-9)).item()


for epoch in range(4):
    for a, b in train:
        loss = nn.functional.cross_entropy(net(a), b)
        opt.zero_grad()
        loss.backward()
        opt.step()
    total, said, true = 0.0, [], []
    with torch.no_grad():
        for a, b in judged:
            answer = net(a).argmax(1)
            total += f1(answer, b)
    print(epoch, total / len(judged))
