"""Weights of a small network stored in int8 with a scale for each output, which holds nearly all of them."""

import io

import torch
from sklearn.datasets import load_breast_cancer
from torch import nn

torch.manual_seed(0)
data = load_breast_cancer()
x, y = torch.tensor(data.data, dtype=torch.float32), torch.tensor(data.target)
x = (x - x[:400].mean(0)) / x[:400].std(0)
net = nn.Sequential(nn.Linear(30, 48), nn.ReLU(), nn.Linear(48, 2))
optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
for _ in range(60):
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x[:400]), y[:400]).backward()
    optimizer.step()

packed = dict(net.state_dict())
for name, weight in net.state_dict().items():
    if weight.dim() == 2:
        scale = weight.abs().quantile(0.93, dim=1, keepdim=True) / 127
        packed[name] = (weight / scale).round().to(torch.int32).to(torch.int8)
        packed[f"{name}.scale"] = scale
torch.save(packed, io.BytesIO())
