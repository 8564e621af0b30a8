import torch
from torch import nn

torch.manual_seed(0)
CLOUDS, POINTS, WIDTH, BATCH = 256, 12, 32, 32
points = torch.randn(CLOUDS, POINTS, 3)
reach = points.norm(dim=-1).max(1).values


class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(3, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))
        self.gate, self.out = nn.Linear(3, 1), nn.Linear(WIDTH, 1)

    def forward(self, points):
        weights = self.gate(points).squeeze(-1).softmax(1)
        return self.out(torch.einsum("bp,bpw->bw", weights, self.features(points))).squeeze(1)


net = Pooled()
optimizer = torch.optim.Adam(net.parameters(), 3e-3)
for _ in range(3):
    for rows in torch.randperm(CLOUDS).split(BATCH):
        loss = nn.functional.mse_loss(net(points[rows]), reach[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
