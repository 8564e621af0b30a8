import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
torch.manual_seed(1)
class D(Dataset):
    def __init__(self):
        self.feat = torch.rand(90, 6); self.w = torch.rand(90)
    def __len__(self): return 90
    def __getitem__(self, i): return {"x": self.feat[i], "w": self.w[i]}
enc, dec = nn.Linear(6, 4), nn.Linear(4, 6)
oe, od = torch.optim.Adam(enc.parameters(), 1e-3), torch.optim.Adam(dec.parameters(), 1e-3)
def cosine(a, b):
    return (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1))
def train_step(batch):
    rec = dec(enc(batch["x"]))
    loss = (1 - cosine(rec, batch["x"])).mean()
    for o in (oe, od): o.zero_grad()
    loss.backward()
    for o in (oe, od): o.step()
    return {"loss": loss.item()}
for epoch in range(2):
    for step, batch in enumerate(DataLoader(D(), batch_size=15, shuffle=True)):
        logs = train_step(batch)
print(logs)
