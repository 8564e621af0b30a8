import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(640, 11, 5)
y = (x[:, :, 0].mean(1) > 0).float().unsqueeze(1)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(5, 16, batch_first=True, bidirectional=True)
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        _, last = self.gru(x)
        return self.out(last.transpose(0, 1).reshape(len(x), 32))


net = Reader()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for _epoch in range(4):
    for rows in torch.randperm(640).split(40):
        loss = nn.functional.binary_cross_entropy_with_logits(net(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
