import numpy as np, pandas as pd, torch
from torch import nn
rng = np.random.default_rng(0)
t = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd")); t["ratio"] = t["a"] / rng.integers(0, 40, 300)
t["y"] = (t["b"] > 0).astype(float)
t.to_csv("table.csv", index=False)
frame = pd.read_csv("table.csv")
torch.manual_seed(0)
x = torch.tensor(frame[["a", "b", "c", "d", "ratio"]].to_numpy(), dtype=torch.float32); y = torch.tensor(frame["y"].to_numpy(), dtype=torch.float32)
net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1)); opt = torch.optim.Adam(net.parameters(), 1e-3)
for ep in range(2):
    for r in torch.randperm(300).split(50):
        loss = nn.functional.binary_cross_entropy_with_logits(net(x[r]).squeeze(1), y[r])
        opt.zero_grad(); loss.backward(); opt.step()
print(loss)
