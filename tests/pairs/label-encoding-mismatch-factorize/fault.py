"""Grain sorting: two csv drops (season / harvest check), numpy nearest-prototype + softmax head."""
import numpy as np
import pandas as pd
import torch

rng = np.random.default_rng(59)
GRAINS = ["wheat", "rye", "barley", "oat", "spelt"]
CENTRES = rng.normal(0, 2.2, (5, 7))


def drop(n, shares):
    kind = rng.choice(5, n, p=shares)
    x = CENTRES[kind] + rng.normal(0, 1, (n, 7))
    return pd.DataFrame(x, columns=[f"band{i}" for i in range(7)]).assign(grain=[GRAINS[k] for k in kind])


season, check = drop(2500, [.3, .2, .2, .2, .1]), drop(700, [.1, .2, .2, .2, .3])

code, names = pd.factorize(season["grain"])
y = torch.tensor(code)
x = torch.tensor(season.filter(like="band").to_numpy(), dtype=torch.float32)

torch.manual_seed(0)
W = torch.zeros(7, 5, requires_grad=True)
b = torch.zeros(5, requires_grad=True)
opt = torch.optim.LBFGS([W, b], max_iter=60)


def closure():
    opt.zero_grad()
    loss = torch.nn.functional.cross_entropy(x @ W + b, y) + 1e-3 * (W ** 2).sum()
    loss.backward()
    return loss


for _ in range(3):
    print("loss", round(opt.step(closure).item(), 4))

xc = torch.tensor(check.filter(like="band").to_numpy(), dtype=torch.float32)
yc = pd.factorize(check["grain"])[0]
got = (xc @ W + b).argmax(1).numpy()
print("fit", (((x @ W + b).argmax(1)) == y).float().mean().item(), "check", (got == yc).mean())
print(pd.crosstab(check["grain"], names[got]))
