"""Healthy trainings of unusual kinds: loops, losses and schedules on which a naive rule on losses, gradients or units would bark."""

HEAD = """
import math, torch
from torch import nn
from torch.nn import functional as F
from sklearn.datasets import load_digits, load_wine, load_diabetes, load_breast_cancer
torch.manual_seed(7)
def digits(scale=16.0):
    d = load_digits()
    order = torch.randperm(len(d.target))
    x, y = (torch.tensor(d.data, dtype=torch.float32) / scale)[order], torch.tensor(d.target)[order]
    return x[:1400], y[:1400], x[1400:], y[1400:]
"""

PROGRAMS = {
    # four small batches to one step, losses divided
    "accumulation": """
x, y, xt, yt = digits()
net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
for epoch in range(8):
    for i, ids in enumerate(torch.randperm(len(x)).split(16)):
        (F.cross_entropy(net(x[ids]), y[ids]) / 4).backward()
        if i % 4 == 3:
            opt.step()
            opt.zero_grad()
print((net(xt).argmax(1) == yt).float().mean().item())
""",
    # the loss jumps up at each restart
    "warm-restarts": """
x, y, xt, yt = digits()
net = nn.Sequential(nn.Linear(64, 48), nn.GELU(), nn.Linear(48, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.4, momentum=0.9)
plan = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=4, eta_min=1e-4)
for epoch in range(16):
    for ids in torch.randperm(len(x)).split(64):
        loss = F.cross_entropy(net(x[ids]), y[ids])
        opt.zero_grad(); loss.backward(); opt.step()
    plan.step()
print((net(xt).argmax(1) == yt).float().mean().item())
""",
    # neither loss of a GAN falls
    "gan": """
G = nn.Sequential(nn.Linear(4, 48), nn.LeakyReLU(0.2), nn.Linear(48, 2))
D = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))
og, od = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9)), torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))
for step in range(800):
    real = torch.randn(128, 2) * torch.tensor([2.0, 0.5]) + torch.tensor([1.0, -1.0])
    fake = G(torch.randn(128, 4))
    d = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
    od.zero_grad(); d.backward(); od.step()
    g = F.softplus(-D(fake)).mean()
    og.zero_grad(); g.backward(); og.step()
with torch.no_grad():
    p = G(torch.randn(2000, 4))
print(p.mean(0), p.std(0))
""",
    # the loss of an actor says nothing, and the critic's grows as returns do
    "actor-critic": """
class Walk:
    def reset(self): self.p, self.t = 3, 0; return self.see()
    def see(self): return F.one_hot(torch.tensor(self.p), 7).float()
    def step(self, a):
        self.p += 1 if a else -1; self.t += 1
        done = self.p in (0, 6) or self.t > 20
        return self.see(), float(self.p == 6), done
body, pi, v = nn.Sequential(nn.Linear(7, 32), nn.Tanh()), nn.Linear(32, 2), nn.Linear(32, 1)
opt = torch.optim.Adam([*body.parameters(), *pi.parameters(), *v.parameters()], lr=1e-2)
env, won = Walk(), []
for episode in range(300):
    s, done, kept = env.reset(), False, []
    while not done:
        h = body(s)
        dist = torch.distributions.Categorical(logits=pi(h))
        a = dist.sample()
        s, r, done = env.step(int(a))
        kept.append((dist.log_prob(a), v(h).squeeze(), r, dist.entropy()))
    ret, total = 0.0, 0.0
    for logp, value, r, ent in reversed(kept):
        ret = r + 0.95 * ret
        total = total - logp * (ret - value.detach()) + 0.5 * (value - ret) ** 2 - 0.01 * ent
    opt.zero_grad(); total.backward(); opt.step()
    won.append(max(k[2] for k in kept))
print(sum(won[-50:]) / 50)
""",
    # one step, many evaluations, the gradient ends near nothing
    "lbfgs": """
x = torch.linspace(-3, 3, 200)[:, None]; y = torch.sin(2 * x) + 0.05 * torch.randn_like(x)
net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.LBFGS(net.parameters(), lr=0.8, max_iter=20, line_search_fn="strong_wolfe")
def closure():
    opt.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    return loss
for _ in range(30):
    last = opt.step(closure)
print(last.item())
""",
    # sparse gradients; one table starts at zero on purpose
    "sparse-embeddings": """
users, items = nn.Embedding(300, 8, sparse=True), nn.Embedding(200, 8, sparse=True)
nn.init.normal_(users.weight, std=0.1); nn.init.zeros_(items.weight)
a, b = torch.randn(300, 4), torch.randn(200, 4)
u, i = torch.randint(0, 300, (20000,)), torch.randint(0, 200, (20000,))
like = ((a[u] * b[i]).sum(1) > 0).float()
opt = torch.optim.SparseAdam([*users.parameters(), *items.parameters()], lr=1e-2)
for epoch in range(4):
    for ids in torch.randperm(20000).split(256):
        loss = F.binary_cross_entropy_with_logits((users(u[ids]) * items(i[ids])).sum(1), like[ids])
        opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
""",
    # a narrow linear middle, most pixels zero, a loss with a floor far above zero
    "autoencoder-bce": """
x, _, xt, _ = digits()
enc, dec = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 8)), nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 64))
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=2e-3)
for epoch in range(10):
    for ids in torch.randperm(len(x)).split(64):
        loss = F.binary_cross_entropy_with_logits(dec(enc(x[ids])), x[ids])
        opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
""",
    # a third of the labels is drawn at random: the loss stays high, what is learnt is right
    "label-noise": """
x, y, xt, yt = digits()
seen = torch.where(torch.rand(len(y)) < 0.35, torch.randint(0, 10, (len(y),)), y)
net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 10))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.05)
for epoch in range(10):
    net.train()
    for ids in torch.randperm(len(x)).split(64):
        loss = F.cross_entropy(net(x[ids]), seen[ids], label_smoothing=0.1)
        opt.zero_grad(); loss.backward(); opt.step()
net.eval()
print((net(xt).argmax(1) == yt).float().mean().item())
""",
    # weights of 1 to 30: the weighted loss is no measure of the plain baseline
    "class-weights": """
x = torch.randn(4000, 6); y = (x[:, 0] + 0.5 * torch.randn(4000) > 2.0).long()
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
w = torch.tensor([1.0, 30.0])
for epoch in range(6):
    for ids in torch.randperm(4000).split(128):
        loss = F.cross_entropy(net(x[ids]), y[ids], weight=w)
        opt.zero_grad(); loss.backward(); opt.step()
hit = net(x).argmax(1)
print((hit[y == 1] == 1).float().mean().item(), (hit[y == 0] == 0).float().mean().item())
""",
    # training goes past the best step, and the best weights are put back
    "early-stop": """
X, t = load_diabetes(return_X_y=True)
X, t = torch.tensor(X, dtype=torch.float32), torch.tensor(t, dtype=torch.float32)
X, t = (X - X.mean(0)) / X.std(0), ((t - t.mean()) / t.std())[:, None]
p = torch.randperm(len(X)); a, b = p[:300], p[300:]
net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
best, since, kept = 9e9, 0, None
for epoch in range(200):
    net.train()
    for ids in a[torch.randperm(len(a))].split(32):
        loss = F.mse_loss(net(X[ids]), t[ids])
        opt.zero_grad(); loss.backward(); opt.step()
    net.eval()
    with torch.no_grad():
        val = F.mse_loss(net(X[b]), t[b]).item()
    if val < best:
        best, since, kept = val, 0, {k: v.clone() for k, v in net.state_dict().items()}
    else:
        since += 1
        if since >= 12:
            break
net.load_state_dict(kept)
print(epoch, best)
""",
    # 30 rows, 40 steps
    "tiny-data": """
X, t = load_wine(return_X_y=True)
X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32); t = torch.tensor(t)
p = torch.randperm(len(X))[:60]; a, b = p[:30], p[30:]
net = nn.Sequential(nn.Linear(13, 8), nn.Tanh(), nn.Linear(8, 3))
opt = torch.optim.Adam(net.parameters(), lr=0.02, weight_decay=0.01)
for epoch in range(40):
    loss = F.cross_entropy(net(X[a]), t[a])
    opt.zero_grad(); loss.backward(); opt.step()
print((net(X[b]).argmax(1) == t[b]).float().mean().item())
""",
    # targets with a heavy tail under a Huber loss, gradients clipped: single losses are a hundred times the median
    "heavy-tail": """
x = torch.randn(5000, 5)
y = (x @ torch.tensor([1.0, -2.0, 0.5, 0.0, 1.0]))[:, None] + torch.distributions.StudentT(1.5).sample((5000, 1))
net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
for epoch in range(6):
    for ids in torch.randperm(5000).split(64):
        loss = F.smooth_l1_loss(net(x[ids]), y[ids])
        opt.zero_grad(); loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
print(loss.item(), F.smooth_l1_loss(net(x), y).item())
""",
    # heads of zero, gates that saturate, a residual branch that starts at nothing
    "residual-zero": """
class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a, self.b, self.gate = nn.Linear(d, d), nn.Linear(d, d), nn.Parameter(torch.zeros(1))
        nn.init.zeros_(self.b.weight); nn.init.zeros_(self.b.bias)
    def forward(self, h):
        return h + torch.sigmoid(self.gate) * self.b(F.relu(self.a(h)))
x, y, xt, yt = digits()
net = nn.Sequential(nn.Linear(64, 48), *[Block(48) for _ in range(6)], nn.LayerNorm(48), nn.Linear(48, 10))
nn.init.zeros_(net[-1].weight)
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
for epoch in range(8):
    for ids in torch.randperm(len(x)).split(64):
        loss = F.cross_entropy(net(x[ids]), y[ids])
        opt.zero_grad(); loss.backward(); opt.step()
print((net(xt).argmax(1) == yt).float().mean().item())
""",
    # a frozen random trunk, a new head at a high rate
    "frozen-trunk": """
x, y, xt, yt = digits()
trunk = nn.Sequential(nn.Linear(64, 256), nn.ReLU()).requires_grad_(False)
head = nn.Linear(256, 10)
opt = torch.optim.SGD(head.parameters(), lr=0.5)
for epoch in range(10):
    for ids in torch.randperm(len(x)).split(64):
        loss = F.cross_entropy(head(trunk(x[ids])), y[ids])
        opt.zero_grad(); loss.backward(); opt.step()
print((head(trunk(xt)).argmax(1) == yt).float().mean().item())
""",
    # a recurrent net on long sequences with clipping: raw gradient norms of many times the limit
    "clipped-lstm": """
t = torch.arange(3000) * 0.05
wave = torch.sin(t) + 0.4 * torch.sin(3.1 * t)
X = wave.unfold(0, 61, 4); X, Y = X[:, :60, None], X[:, 60:]
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.rnn = nn.LSTM(1, 24, batch_first=True); self.out = nn.Linear(24, 1)
    def forward(self, v): return self.out(self.rnn(v)[0][:, -1])
net = Net(); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(6):
    for ids in torch.randperm(len(X)).split(64):
        loss = F.mse_loss(net(X[ids]), Y[ids])
        opt.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(net.parameters(), 0.1); opt.step()
print(loss.item())
""",
    # the loss rises by design as the weight of the divergence is warmed up
    "vae-warmup": """
x, _, _, _ = digits()
enc, mu, lv = nn.Sequential(nn.Linear(64, 48), nn.ReLU()), nn.Linear(48, 4), nn.Linear(48, 4)
dec = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 64))
opt = torch.optim.Adam([p for m in (enc, mu, lv, dec) for p in m.parameters()], lr=2e-3)
for epoch in range(12):
    for ids in torch.randperm(len(x)).split(64):
        h = enc(x[ids]); m, s = mu(h), lv(h)
        z = m + torch.randn_like(m) * (0.5 * s).exp()
        rec = F.binary_cross_entropy_with_logits(dec(z), x[ids], reduction="none").sum(1).mean()
        kl = -0.5 * (1 + s - m * m - s.exp()).sum(1).mean()
        loss = rec + min(1.0, epoch / 8) * kl
        opt.zero_grad(); loss.backward(); opt.step()
print(rec.item(), kl.item())
""",
    # a resumed run that has nothing left to learn: a loss that is flat because it is low
    "converged": """
X, t = load_breast_cancer(return_X_y=True)
X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32); t = torch.tensor(t, dtype=torch.float32)[:, None]
net = nn.Linear(30, 1); nn.init.zeros_(net.weight); nn.init.zeros_(net.bias)
for lr, epochs in ((0.5, 30), (0.001, 30)):
    opt = torch.optim.SGD(net.parameters(), lr=lr, weight_decay=1e-3)
    for epoch in range(epochs):
        for ids in torch.randperm(len(X)).split(64):
            loss = F.binary_cross_entropy_with_logits(net(X[ids]), t[ids])
            opt.zero_grad(); loss.backward(); opt.step()
print(((net(X) > 0) == (t > 0.5)).float().mean().item())
""",
}  # fmt: skip
