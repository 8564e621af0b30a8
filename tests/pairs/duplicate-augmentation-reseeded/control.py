import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
x = torch.randn(400, 12)
y = (x.mean(1) > 0).long()


class Noisy(Dataset):
    def __len__(self):
        return 400

    def __getitem__(self, k):
        random = torch.Generator()
        random.manual_seed(11 + k)
        return x[k] + 0.3 * torch.randn(12, generator=random), y[k]


net = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), 1e-2)
for epoch in range(2):
    for a, b in DataLoader(Noisy(), 20, shuffle=True):
        loss = nn.functional.cross_entropy(net(a), b)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
