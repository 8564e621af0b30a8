import torch
from torch import nn
from torch.autograd.function import once_differentiable


class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, mask, scale):
        ctx.save_for_backward(mask)
        return x * mask * scale

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        (mask,) = ctx.saved_tensors
        return None, (gradient * mask).sum(0, keepdim=True), None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 16), nn.Linear(16, 2)

    def forward(self, x):
        return self.head(torch.relu(Gate.apply(self.body(x), torch.ones(1, 16), 1.0)))


torch.manual_seed(0)
x = torch.randn(400, 6)
y = (x[:, 0] > 0).long()
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for _epoch in range(4):
    for rows in torch.randperm(400).split(40):
        loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
