import io

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(600, 8)
y = x[:, :3].argmax(1)


def body():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone, self.head = body(), nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.backbone(x))


encoder, decoder = body(), nn.Linear(16, 8)
opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], 1e-2)
for _ in range(60):
    loss = nn.functional.mse_loss(decoder(encoder(x)), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
file = io.BytesIO()
torch.save({"weights": encoder.state_dict()}, file)
file.seek(0)

net, state = Net(), torch.load(file)["weights"]
net.load_state_dict(state, strict=False)
opt = torch.optim.Adam(net.parameters(), 5e-3)
for _ in range(80):
    rows = torch.randint(0, 600, (64,))
    loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
