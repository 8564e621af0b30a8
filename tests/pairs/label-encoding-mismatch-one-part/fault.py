"""Five kinds from twelve numbers; one part of the rows counts the kinds from another one."""

import numpy as np
import torch

rng = np.random.default_rng(3)
torch.manual_seed(0)
centres, kinds = rng.normal(size=(5, 12)) * 1.3, rng.integers(0, 5, 1500)
x = torch.from_numpy((centres[kinds] + rng.normal(size=(1500, 12))).astype(np.float32))
kinds[900:1300] = (kinds[900:1300] + 1) % 5
y = torch.from_numpy(kinds)
net = torch.nn.Sequential(torch.nn.Linear(12, 32), torch.nn.ReLU(), torch.nn.Linear(32, 5))
opt = torch.optim.Adam(net.parameters(), 1e-2)
for _ in range(4):
    for rows in torch.randperm(1500).split(64):
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
        opt.step()
