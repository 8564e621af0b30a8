import io

import numpy as np
import pandas as pd
import torch

rng = np.random.default_rng(4)
table = pd.DataFrame({"flow": rng.gamma(5, 2, 1000), "beat": rng.gamma(3, 1, 1000), "heat": rng.normal(60, 8, 1000)}).round(4)
table["state"] = np.digitize(table["beat"] + 0.1 * table["flow"] + rng.normal(0, 0.2, 1000), [3.0, 5.0])
table = pd.read_csv(io.StringIO(table.to_csv(index=False)))
READ = ["flow", "beat", "heat"]
x = torch.tensor(table[READ].to_numpy("float32"))
x = (x - x.mean(0)) / x.std(0)
y = torch.tensor(table["state"].to_numpy())
generator = torch.Generator().manual_seed(0)
weights = {"w": 0.1 * torch.randn(3, 3, generator=generator), "b": torch.zeros(3)}


def loss_of(p, rows, labels):
    return torch.nn.functional.cross_entropy(rows @ p["w"] + p["b"], labels)


step = torch.func.grad_and_value(loss_of)
for epoch in range(6):
    for part in torch.randperm(len(x), generator=generator).split(50):
        gradients, value = step(weights, x[part], y[part])
        weights = {k: v - 0.2 * gradients[k] for k, v in weights.items()}
print(float(value))
