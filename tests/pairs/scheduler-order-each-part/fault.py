import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(2000, 10)
y = x @ torch.randn(10) + 0.1 * torch.randn(2000)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.AdamW(net.parameters(), 3e-3)
epochs, parts = 8, 4
schedule = torch.optim.lr_scheduler.PolynomialLR(opt, epochs * 100 // parts, 1.0)
for epoch in range(epochs):
    for k, rows in enumerate(torch.randperm(2000).split(20), 1):
        (nn.functional.mse_loss(net(x[rows]).squeeze(1), y[rows]) / parts).backward()
        if k % parts == 0:
            opt.step()
            opt.zero_grad()
        schedule.step()
    print(epoch, opt.param_groups[0]["lr"])
