"""Operations that turn finite numbers into NaN or infinity, planted in small trainings: where it happens is known exactly.

Each is (program, what is to be named): the operation as the finding begins, the module's path, the rows of the data; the line is the one
that ends in `# <-`. What is None is not asked for.
"""

from __future__ import annotations

from typing import NamedTuple

HEAD = """
import math, numpy as np, torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
X = torch.rand(64, 6) + 0.1
Y = torch.randint(0, 3, (64,))
T = X.sum(1, keepdim=True)
def batches(size=16):
    return torch.arange(64).split(size)
"""


class Planted(NamedTuple):
    program: str
    operation: str  # how the finding's sentence begins; alternatives by |
    module: str | None = None
    rows: tuple[int, ...] | None = None
    check: str = "nonfinite-loss"
    column: object = None


PLANTED = {
    "log": Planted("""
X[37] = 0
net = nn.Linear(6, 1, bias=False)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for ids in batches():
    rate = net(X[ids]).abs()
    loss = (rate - T[ids] * torch.log(rate)).mean()  # <-
    opt.zero_grad(); loss.backward(); opt.step()
""", "log ", None, (37,)),
    "sqrt-backward": Planted("""
B = X.clone(); X[::2] += 0.5
B[21] = X[21] = 1.0
net = nn.Linear(6, 3)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for ids in batches():
    apart = (net(X[ids]) - net(B[ids])).square().sum(1)
    distance = apart.sqrt()  # <-
    loss = (distance - 1).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
""", "the backward pass of sqrt", None, tuple(range(1, 64, 2))[:8]),
    "division": Planted("""
X[50] = -5
class Mix(nn.Module):
    def __init__(self):
        super().__init__(); self.score, self.value = nn.Linear(6, 4), nn.Linear(6, 4)
        nn.init.constant_(self.score.weight, 0.1)
    def forward(self, x):
        w = torch.relu(self.score(x))
        w = w / w.sum(1, keepdim=True)  # <-
        return (w * self.value(x)).sum(1, keepdim=True)
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.mix, self.out = Mix(), nn.Linear(1, 3)
    def forward(self, x): return self.out(self.mix(x))
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    for ids in batches():
        loss = F.cross_entropy(net(X[ids]), Y[ids])
        opt.zero_grad(); loss.backward(); opt.step()
""", "div ", "mix", (50,)),
    "exp": Planted("""
X[9] *= 800
net = nn.Linear(6, 1); nn.init.constant_(net.weight, 0.3)
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
def poisson(out, target):
    rate = out.exp()  # <-
    return (rate - target * out).mean()
for ids in batches(8):
    loss = poisson(net(X[ids]), T[ids])
    opt.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(net.parameters(), 1.0); opt.step()
""", "exp ", None, (9,)),
    "norm": Planted("""
X[3] = 0
net = nn.Linear(6, 4, bias=False)
head = nn.Linear(4, 3)
opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
for ids in batches():
    h = net(X[ids])
    h = h / h.norm(dim=1, keepdim=True)  # <-
    loss = F.cross_entropy(head(h), Y[ids])
    opt.zero_grad(); loss.backward(); opt.step()
""", "div ", None, (3,)),
    "root-by-power": Planted("""
X[60] = 0
net = nn.Linear(6, 4, bias=False)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for ids in batches():
    length = (net(X[ids]) ** 2).sum(1) ** 0.5  # <-
    loss = (length - 1).abs().mean()
    opt.zero_grad(); loss.backward(); opt.step()
""", "the backward pass of pow", None, (60,)),
    "arccos": Planted("""
net = nn.Linear(6, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
class Angle(nn.Module):
    def forward(self, a, b):
        cos = (a * b).sum(1) * 1.2
        return torch.acos(cos)  # <-
angle = Angle()
for ids in batches():
    a, b = F.normalize(net(X[ids]), dim=1), F.normalize(net(X[ids].flip(1)), dim=1)
    loss = angle(a, b).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""", "acos ", "Angle"),
    "arccos-backward": Planted("""
X[30] = torch.tensor([2.0, 0, 0, 0, 0, 0])
net = nn.Linear(6, 6, bias=False); nn.init.eye_(net.weight)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
pole = torch.eye(6)[0]
for ids in batches():
    unit = F.normalize(net(X[ids]), dim=1)
    loss = torch.arccos(unit @ pole).mean()  # <-
    opt.zero_grad(); loss.backward(); opt.step()
    nn.init.eye_(net.weight) if torch.isfinite(net.weight).all() else None
""", "the backward pass of acos", None, (30,)),
    "power-of-negative": Planted("""
X[14] = -X[14]
net = nn.Linear(6, 1, bias=False); nn.init.constant_(net.weight, 0.5)
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
for ids in batches():
    out = net(X[ids])
    loss = (torch.pow(out, 1.5) - T[ids]).square().mean()  # <-
    opt.zero_grad(); loss.backward(); opt.step()
""", "pow ", None, (14,)),
    "softmax-of-nothing": Planted("""
mask = torch.ones(64, 5, dtype=torch.bool); mask[44] = False
class Attention(nn.Module):
    def __init__(self):
        super().__init__(); self.q, self.k, self.v = nn.Linear(6, 8), nn.Linear(6, 8), nn.Linear(6, 8)
    def forward(self, x, keep):
        s = self.q(x[:, :1]) @ self.k(x).transpose(1, 2)
        s = s.masked_fill(~keep[:, None], float("-inf"))
        return (s.softmax(-1) @ self.v(x))[:, 0]  # <-
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.attention, self.out = Attention(), nn.Linear(8, 3)
    def forward(self, x, keep): return self.out(self.attention(x, keep))
S = torch.rand(64, 5, 6)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for ids in batches():
    loss = F.cross_entropy(net(S[ids], mask[ids]), Y[ids])
    opt.zero_grad(); loss.backward(); opt.step()
""", "softmax |_softmax ", "attention", (44,)),
    "half-overflow": Planted("""
X[17] *= 400
net = nn.Linear(6, 1); nn.init.constant_(net.weight, 1.0)
opt = torch.optim.SGD(net.parameters(), lr=1e-9)
for ids in batches():
    out = net(X[ids])
    small = (out * 100).half()  # <-
    loss = (small.float() / 100 - T[ids]).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
""", "to_copy |_to_copy ", None, (17,)),
    "poisoned-embedding": Planted("""
words = torch.randint(0, 40, (64, 5)); words[words == 11] = 12; words[33, 2] = 11
net = nn.Sequential(); net.add_module("table", nn.Embedding(40, 8)); net.add_module("flat", nn.Flatten()); net.add_module("out", nn.Linear(40, 3))
with torch.no_grad(): net.table.weight[11, 3] = float("nan")
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for ids in batches():
    loss = F.cross_entropy(net(words[ids]), Y[ids])
    opt.zero_grad(); loss.backward(); opt.step()
""", "", "table", (11,), "nonfinite-values"),
    "variance-of-one": Planted("""
net = nn.Linear(6, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for ids in torch.arange(33).split(16):
    out = net(X[ids])
    spread = out.var(0).mean()  # <-
    loss = F.cross_entropy(out, Y[ids]) + 0.01 * spread
    opt.zero_grad(); loss.backward(); opt.step()
""", "var "),
    "hypotenuse-backward": Planted("""
X[26] = 0
net = nn.Linear(6, 2, bias=False)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for ids in batches():
    out = net(X[ids])
    length = torch.hypot(out[:, 0], out[:, 1])  # <-
    loss = (length - 0.3).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
""", "the backward pass of hypot", None, (26,)),
    "log1p": Planted("""
X[8] = 0
net = nn.Linear(6, 1, bias=False); nn.init.constant_(net.weight, 0.4)
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
for ids in batches():
    out = net(X[ids])
    loss = (torch.log1p(out - 1) - T[ids]).abs().mean()  # <-
    opt.zero_grad(); loss.backward(); opt.step()
""", "log1p ", None, (8,)),
    "log-of-exponentials": Planted("""
net = nn.Linear(6, 3)
X[55] *= 1000
opt = torch.optim.SGD(net.parameters(), lr=1e-4)
with torch.no_grad(): net.weight.abs_()
for ids in batches():
    s = net(X[ids])
    e = s.exp()  # <-
    loss = (e.sum(1).log() - s[torch.arange(len(ids)), Y[ids]]).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""", "exp ", None, (55,)),
    "rsqrt": Planted("""
X[12] = 0
class RootMean(nn.Module):
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True))  # <-
net = nn.Sequential(nn.Linear(6, 8, bias=False), RootMean(), nn.Linear(8, 3))
opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
for epoch in range(2):
    for ids in batches():
        loss = F.cross_entropy(net(X[ids]), Y[ids])
        opt.zero_grad(); loss.backward(); opt.step()
""", "rsqrt ", "1", (12,)),
    "std-of-one": Planted("""
class Standard(nn.Module):
    def forward(self, x):
        return (x - x.mean(0)) / (x.std(0) + 1e-5)  # <-
net = nn.Sequential(nn.Linear(6, 8), Standard(), nn.Linear(8, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X[:49], Y[:49]), batch_size=16)
for x, y in loader:
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""", "std ", "1"),
    "cumulative-product": Planted("""
X[40] *= 1e9
net = nn.Linear(6, 6); nn.init.eye_(net.weight)
opt = torch.optim.SGD(net.parameters(), lr=1e-12)
for ids in batches():
    grown = net(X[ids]).cumprod(1)  # <-
    loss = grown[:, -1].log1p().mean()
    opt.zero_grad(); loss.backward(); opt.step()
""", "cumprod ", None, (40,)),
    "root-of-variance-backward": Planted("""
net = nn.Linear(6, 4); nn.init.zeros_(net.weight)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for ids in batches():
    h = net(X[ids])
    spread = torch.sqrt(h.var(0))  # <-
    loss = F.relu(1 - spread).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""", "the backward pass of sqrt"),
    "cross-entropy-by-hand": Planted("""
X[19] *= 5000; Y[19] = 2
net = nn.Linear(6, 3)
with torch.no_grad(): net.weight[0] = 1.0; net.weight[2] = -1.0
opt = torch.optim.SGD(net.parameters(), lr=1e-4)
def nll(p, y): return -torch.log(p[torch.arange(len(y)), y]).mean()  # <-
for ids in batches():
    loss = nll(F.softmax(net(X[ids]), dim=1), Y[ids])
    opt.zero_grad(); loss.backward(); opt.step()
""", "log ", None, (19,)),
    "bce-by-hand": Planted("""
y = (Y == 1).float(); X[47] *= 3000; y[47] = 0
net = nn.Linear(6, 1); nn.init.constant_(net.weight, 0.5)
opt = torch.optim.SGD(net.parameters(), lr=1e-5)
for ids in batches():
    p = torch.sigmoid(net(X[ids]))[:, 0]
    loss = -(y[ids] * torch.log(p + 1e-9) + (1 - y[ids]) * torch.log(1 - p)).mean()  # <-
    opt.zero_grad(); loss.backward(); opt.step()
""", "log ", None, (47,)),
    "nan-in-the-batch": Planted("""
X[41, 2] = float("nan")
net = nn.Linear(6, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=16, shuffle=True)
for x, y in loader:
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""", "", None, (41,), "nonfinite-values", 2),
    "nan-from-the-loader": Planted("""
raw = np.random.default_rng(0).random((64, 6)).astype("float32"); raw[23] = 0.5
class Rows(torch.utils.data.Dataset):
    def __len__(self): return 64
    def __getitem__(self, i):
        row = torch.from_numpy(raw[i])
        row = (row - row.mean()) / row.std()  # <-
        return row, Y[i]
net = nn.Linear(6, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in torch.utils.data.DataLoader(Rows(), batch_size=8, shuffle=True):
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""", "", None, (23,), "nonfinite-values"),
    "infinity-times-zero": Planted("""
S, keep = torch.rand(64, 4, 6), torch.ones(64, 4); keep[28, 2:] = 0; S[28, 2:] = 0
net = nn.Linear(6, 1, bias=False)
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for ids in batches():
    size = net(S[ids]).abs()[..., 0]
    cost = (size - torch.log(size)) * keep[ids]  # <-
    loss = cost.sum() / keep[ids].sum()
    opt.zero_grad(); loss.backward(); opt.step()
""", "log ", None, (28,)),
    "under-autocast": Planted("""
X[6] *= 300
class Scale(nn.Module):
    def __init__(self):
        super().__init__(); self.lift = nn.Linear(6, 6)
        nn.init.constant_(self.lift.weight, 0.5)
    def forward(self, x):
        return torch.exp(self.lift(x))  # <-
net = nn.Sequential(Scale(), nn.Linear(6, 3))
opt = torch.optim.SGD(net.parameters(), lr=1e-4)
for ids in batches():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = net(X[ids])
        loss = F.cross_entropy(out, Y[ids])
    opt.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(net.parameters(), 1.0); opt.step()
""", "exp ", "0", (6,)),
    "scaler-that-never-steps": Planted("""
X[::16] = 0
net = nn.Linear(6, 1, bias=False)
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
for epoch in range(8):
    for ids in batches():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            size = net(X[ids]).abs().float()
        loss = (size.log() - T[ids]).square().mean()  # <-
        opt.zero_grad(); scaler.scale(loss).backward(); scaler.step(opt); scaler.update()
""", "log ", None, (0,)),
    "accumulation": Planted("""
X[42] = 0
net = nn.Linear(6, 1, bias=False)
opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
for i, ids in enumerate(batches(8)):
    size = net(X[ids]).square()
    loss = (torch.log(size) - T[ids]).square().mean() / 4  # <-
    loss.backward()
    if i % 4 == 3:
        opt.step(); opt.zero_grad()
""", "log ", None, (42,)),
    "loss-in-the-call": Planted("""
X[58] = 0
net = nn.Linear(6, 1, bias=False)
opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
def loss_of(ids):
    size = net(X[ids]).square()
    return (torch.log(size) - T[ids]).square().mean()  # <-
for i, ids in enumerate(batches(8)):
    (loss_of(ids) / 2).backward()
    if i % 2:
        opt.step(); opt.zero_grad()
""", "log ", None, (58,)),
    "two-optimizers": Planted("""
G, D = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 6)), nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())
og, od = torch.optim.Adam(G.parameters(), lr=1e-2), torch.optim.SGD(D.parameters(), lr=30.0)
for step in range(60):
    real, fake = X[torch.randint(0, 64, (16,))] + 3, G(torch.randn(16, 2))
    d = -(torch.log(D(real)) + torch.log(1 - D(fake.detach()))).mean()  # <-
    od.zero_grad(); d.backward(); od.step()
    g = -torch.log(D(fake) + 1e-6).mean()
    og.zero_grad(); g.backward(); og.step()
""", "log "),
    "lstm": Planted("""
S = torch.randn(64, 7, 3); S[35] = 0
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.rnn, self.out = nn.LSTM(3, 8, bias=False, batch_first=True), nn.Linear(8, 1, bias=False)
    def forward(self, s):
        h = self.rnn(s)[0]
        pooled = h.sum(1) / h.abs().sum(1)  # <-
        return self.out(pooled)
net = Net()
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for ids in batches():
    loss = F.mse_loss(net(S[ids]), T[ids])
    opt.zero_grad(); loss.backward(); opt.step()
""", "div ", "Net", (35,)),
    "closure": Planted("""
net = nn.Linear(6, 1, bias=False)
X[2] = 0
opt = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=4)
def closure():
    opt.zero_grad()
    out = net(X)
    loss = (out.abs().sqrt() - T).square().mean()  # <-
    loss.backward()
    return loss
for _ in range(5):
    opt.step(closure)
""", "the backward pass of sqrt", None, (2,)),
    "shared-module": Planted("""
B = torch.rand(64, 6); B[52] = 0
class Encode(nn.Module):
    def __init__(self):
        super().__init__(); self.lin = nn.Linear(6, 4, bias=False)
    def forward(self, x):
        h = self.lin(x)
        return h / h.abs().max(1, keepdim=True).values  # <-
class Twin(nn.Module):
    def __init__(self):
        super().__init__(); self.tower = Encode()
    def forward(self, a, b): return (self.tower(a) * self.tower(b)).sum(1)
net = Twin()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for ids in batches():
    loss = (1 - net(X[ids], B[ids])).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
""", "div ", "tower", (52,)),
    "lightning": Planted("""
import lightning, warnings, logging
warnings.simplefilter("ignore"); logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
X[38] = 0
class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__(); self.lin = nn.Linear(6, 1, bias=False)
    def training_step(self, batch, i):
        x, t = batch
        out = self.lin(x).abs()
        return (out.log() - t).square().mean()  # <-
    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), lr=1e-2)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, T), batch_size=16, shuffle=True)
trainer = lightning.Trainer(max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, accelerator="cpu")
trainer.fit(Net(), loader)
""", "log ", None, (38,)),
    "deep-in-modules": Planted("""
X[29] = 0
class Gate(nn.Module):
    def __init__(self):
        super().__init__(); self.lin = nn.Linear(6, 6, bias=False)
    def forward(self, x):
        g = self.lin(x).abs()
        return x + 0.1 * g.log()  # <-
class Block(nn.Module):
    def __init__(self, gated):
        super().__init__(); self.norm, self.gate = nn.Identity(), Gate() if gated else nn.Linear(6, 6, bias=False)
    def forward(self, x): return self.gate(self.norm(x))
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.blocks, self.out = nn.ModuleList([Block(False), Block(True)]), nn.Linear(6, 3)
    def forward(self, x):
        for b in self.blocks: x = b(x)
        return self.out(x)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for ids in batches():
    loss = F.cross_entropy(net(X[ids]), Y[ids])
    opt.zero_grad(); loss.backward(); opt.step()
""", "log ", "blocks.1.gate", (29,)),
    "mean-of-nothing": Planted("""
Y[32:48] = 0
net = nn.Linear(6, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for ids in batches():
    cost = F.cross_entropy(net(X[ids]), Y[ids], reduction="none")
    rare = cost[Y[ids] == 2]
    loss = cost.mean() * (1 + rare.mean())  # <-
    opt.zero_grad(); loss.backward(); opt.step()
""", "mean "),
    "weights-without-graph": Planted("""
counts = torch.tensor([9.0, 5.0, 0.0])
net = nn.Linear(6, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for ids in batches():
    w = counts.sum() / counts[Y[ids]]  # <-
    cost = F.cross_entropy(net(X[ids]), Y[ids], reduction="none")
    loss = (w * cost).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""", "", None, None, "nonfinite-values"),
    "overflow-of-a-row": Planted("""
X[18, 1] = 3e14
net = nn.Linear(6, 1); nn.init.constant_(net.weight, 1.0)
opt = torch.optim.SGD(net.parameters(), lr=1e-30)
for ids in batches():
    out = net(X[ids])
    loss = (out ** 4).mean() * 1e-20  # <-
    opt.zero_grad(); loss.backward(); opt.step()
""", "pow ", None, (18,)),
    "divergence-by-hand": Planted("""
teacher = F.one_hot(Y, 3).float() * 0.9 + 0.05; teacher[13] = torch.tensor([0.0, 0.5, 0.5])
net = nn.Linear(6, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for ids in batches():
    q = net(X[ids]).softmax(1)
    t = teacher[ids]
    loss = (t * (t / q).log()).sum(1).mean()  # <-
    opt.zero_grad(); loss.backward(); opt.step()
""", "log ", None, (13,)),
    "where-too-late": Planted("""
X[57] = 0
net = nn.Linear(6, 1, bias=False)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for ids in batches():
    a = net(X[ids]).abs()
    root = torch.where(a > 0, a.sqrt(), torch.zeros_like(a))  # <-
    loss = (root - T[ids]).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
""", "the backward pass of sqrt", None, (57,)),
    "own-function-backward": Planted("""
X[45] = 0
class Root(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.abs().sqrt(); ctx.save_for_backward(x, y); return y
    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * x.sign() / (2 * y)  # <-
net = nn.Linear(6, 1, bias=False)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for ids in batches():
    out = Root.apply(net(X[ids]))
    loss = (out - T[ids]).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
""", "the backward pass of root", None, (45,)),
    "in-place": Planted("""
X[5] = 0
net = nn.Sequential(nn.Linear(6, 4, bias=False), nn.ReLU())
head = nn.Linear(4, 3)
opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
for ids in batches():
    h = net(X[ids]) + 0
    h.div_(h.sum(1, keepdim=True))  # <-
    loss = F.cross_entropy(head(h), Y[ids])
    opt.zero_grad(); loss.backward(); opt.step()
""", "div "),
    "checkpointed": Planted("""
from torch.utils.checkpoint import checkpoint
X[11] = 0
class Gate(nn.Module):
    def __init__(self):
        super().__init__(); self.lin = nn.Linear(6, 6, bias=False)
    def forward(self, x):
        return self.lin(x).abs().log()  # <-
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.gate, self.out = Gate(), nn.Linear(6, 3)
    def forward(self, x): return self.out(checkpoint(self.gate, x, use_reentrant=False))
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for ids in batches():
    loss = F.cross_entropy(net(X[ids]), Y[ids])
    opt.zero_grad(); loss.backward(); opt.step()
""", "log ", "gate", (11,)),
    "compiled": Planted("""
X[24] = 0
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.lin = nn.Linear(6, 3, bias=False)
    def forward(self, x):
        h = self.lin(x).abs()
        return h.log()  # <-
net = Net()
fast = torch.compile(net, backend="aot_eager")
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for ids in batches():
    loss = F.cross_entropy(fast(X[ids]), Y[ids])
    opt.zero_grad(); loss.backward(); opt.step()
""", "log ", None, (24,)),
    "trainer-class": Planted("""
X[63] = 0
class Trainer:
    def __init__(self, net):
        self.net, self.opt = net, torch.optim.SGD(net.parameters(), lr=1e-2)
    def compute_loss(self, x, t):
        scale = self.net(x).square()
        return (scale.log() + t / scale.clamp(min=1e-3)).mean()  # <-
    def step(self, x, t):
        self.loss = self.compute_loss(x, t)
        self.opt.zero_grad(set_to_none=True)
        self.loss.backward()
        self.opt.step()
        return self.loss.item()
trainer = Trainer(nn.Linear(6, 1, bias=False))
for ids in batches():
    trainer.step(X[ids], T[ids])
""", "log ", None, (63,)),
    "multihead-all-padding": Planted("""
S, pad = torch.randn(64, 5, 8), torch.zeros(64, 5, dtype=torch.bool); pad[16] = True
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.attn, self.out = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 3)
    def forward(self, s, pad):
        h, _ = self.attn(s, s, s, key_padding_mask=pad)  # <-
        return self.out(h.mean(1))
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for ids in batches():
    loss = F.cross_entropy(net(S[ids], pad[ids]), Y[ids])
    opt.zero_grad(); loss.backward(); opt.step()
""", "softmax |_softmax |safe_softmax |_safe_softmax |scaled_dot |_scaled_dot", "attn", None),
}  # fmt: skip

# what is not finite is made on purpose and masked or left out: nothing is accused
HEALTHY = {
    "masked-softmax": """
S, keep = torch.rand(64, 5, 6), torch.rand(64, 5) > 0.3; keep[:, 0] = True
q, out = nn.Linear(6, 6), nn.Linear(6, 3)
opt = torch.optim.Adam([*q.parameters(), *out.parameters()], lr=1e-2)
for epoch in range(3):
    for ids in batches():
        s = (q(S[ids]) * S[ids]).sum(-1).masked_fill(~keep[ids], float("-inf"))
        h = (s.softmax(1)[..., None] * S[ids]).sum(1)
        loss = F.cross_entropy(out(h), Y[ids])
        opt.zero_grad(); loss.backward(); opt.step()
""",
    "nan-left-out": """
T[::7] = float("nan")
net = nn.Linear(6, 1)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    for ids in batches():
        known = ~T[ids].isnan()
        loss = F.mse_loss(net(X[ids])[known], T[ids][known])
        opt.zero_grad(); loss.backward(); opt.step()
""",
    "safe-where": """
X[::5] = 0
net = nn.Linear(6, 1, bias=False)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    for ids in batches():
        a = net(X[ids]).abs()
        safe = torch.where(a > 0, a, torch.ones_like(a))
        root = torch.where(a > 0, safe.sqrt(), torch.zeros_like(a))
        loss = (root - T[ids]).square().mean()
        opt.zero_grad(); loss.backward(); opt.step()
""",
    "scaler-that-skips-once": """
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.SGD(net.parameters(), lr=1e-1)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 60)
for epoch in range(20):
    for ids in batches():
        loss = F.cross_entropy(net(X[ids]), (X[ids, 0] * 3).long().clamp(max=2))
        opt.zero_grad(); scaler.scale(loss * 1e24).backward(); scaler.unscale_(opt)
        for p in net.parameters(): p.grad.div_(1e24)
        scaler.step(opt); scaler.update()
""",
    "scaler-still-searching": """
net = nn.Linear(6, 3)
opt = torch.optim.SGD(net.parameters(), lr=1e-1)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 127)
for epoch in range(2):
    for ids in batches():
        loss = F.cross_entropy(net(X[ids]), Y[ids]) * 1e20
        opt.zero_grad(); scaler.scale(loss).backward(); scaler.step(opt); scaler.update()
""",
    "loop-that-skips-bad-steps": """
X[40] = 0
net = nn.Linear(6, 1, bias=False)
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for epoch in range(4):
    for ids in batches():
        loss = (net(X[ids]).abs().log() - T[ids]).square().mean()
        if not torch.isfinite(loss):
            continue
        opt.zero_grad(); loss.backward(); opt.step()
""",
    "best-so-far-is-infinity": """
net = nn.Linear(6, 1)
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
best = torch.tensor(float("inf"))
for epoch in range(5):
    for ids in batches():
        loss = F.mse_loss(net(X[ids]), T[ids])
        opt.zero_grad(); loss.backward(); opt.step()
        best = torch.minimum(best, loss.detach())
print(best.item())
""",
}  # fmt: skip
