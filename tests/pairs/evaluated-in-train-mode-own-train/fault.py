import torch
from torch import nn

torch.manual_seed(3)
x = torch.randn(300, 20)
y = (x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] > 0).long()


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.widen, self.drop, self.mix = nn.Linear(20, 48), nn.Dropout(0.4), nn.Linear(48, 48)
        self.recording = True

    def train(self, mode=True):
        self.recording = mode
        self.training = mode
        return self

    def forward(self, x):
        return self.mix(self.drop(self.widen(x).relu())).relu()


net = nn.Sequential(Encoder(), nn.Linear(48, 3))
optimizer = torch.optim.Adam(net.parameters(), 2e-3)
for epoch in range(4):
    net.train()
    for rows in torch.randperm(240).split(40):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
        optimizer.step()
    net.eval()
    with torch.inference_mode():
        print(epoch, float((net(x[240:]).argmax(1) == y[240:]).float().mean()))
