import torch
from torch import nn

torch.manual_seed(1)
x = torch.randn(600, 8)
y = 60 * x[:, :1] + 25 * x[:, 1:2] ** 2
net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
for _ in range(12):
    for rows in torch.randperm(600).split(60):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x[rows]), y[rows])
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
print(loss.item(), y.var().item())
