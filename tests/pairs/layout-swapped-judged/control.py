"""Train the digit reader on the archive, then replay one day of the scanner's pictures."""
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(11)


class Archive(Dataset):
    """Pictures from the archive: height, width, channel."""

    def __init__(self, images, labels):
        self.images, self.labels = images, labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return np.transpose(self.images[i], (2, 0, 1)), int(self.labels[i])


class Scanner(Archive):
    """The scanner gives the same pictures, batched on the belt."""

    def batch(self):
        return torch.from_numpy(self.images).permute(0, 3, 1, 2), torch.from_numpy(self.labels)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(2, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.ReLU())
        self.head = nn.Linear(24 * 16, 10)

    def forward(self, x):
        return self.head(self.conv(x).flatten(1))


digits = load_digits()
ink = (digits.images / 16).astype("float32")
pictures = np.stack([ink, 1 - ink], axis=-1)
order = np.random.default_rng(0).permutation(len(ink))
tr, te = order[:1300], order[1300:]

net = Reader()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
loader = DataLoader(Archive(pictures[tr], digits.target[tr]), batch_size=32, shuffle=True, generator=torch.Generator().manual_seed(1))
for epoch in range(4):
    total = 0.
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
        total += loss.item()
print("last train loss", round(total / len(loader), 4))

net.eval()
x, y = Scanner(pictures[te], digits.target[te]).batch()
with torch.no_grad():
    print("scanner accuracy", (net(x).argmax(1) == y).float().mean().item())
