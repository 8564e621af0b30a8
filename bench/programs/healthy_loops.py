"""Healthy trainings with unusual loops: schedules, several objectives, averages, checkpoints; the head is that of healthy.py."""

PROGRAMS = {
    # a decoder that is shown the truth, padding left out of the loss
    "seq2seq": """
V, PAD, BOS = 12, 0, 1
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.e = nn.Embedding(V, 16, padding_idx=PAD)
        self.enc, self.dec, self.out = nn.GRU(16, 48, batch_first=True), nn.GRU(16, 48, batch_first=True), nn.Linear(48, V)
    def forward(self, s, t): return self.out(self.dec(self.e(t), self.enc(self.e(s))[1])[0])
net = Net(); opt = torch.optim.Adam(net.parameters(), lr=8e-3); lossf = nn.CrossEntropyLoss(ignore_index=PAD)
for step in range(200):
    n = torch.randint(2, 5, (32,)); s = torch.randint(2, V, (32, 4)); s[torch.arange(4)[None] >= n[:, None]] = PAD
    t = torch.cat([torch.full((32, 1), BOS), s], 1)
    loss = lossf(net(s, t[:, :-1]).flatten(0, 1), t[:, 1:].flatten())
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
""",
    # two heads whose losses are of different size
    "multi-task": """
x, y, xt, yt = digits()
body, cls, reg = nn.Sequential(nn.Linear(64, 48), nn.ReLU()), nn.Linear(48, 10), nn.Linear(48, 1)
opt = torch.optim.Adam([*body.parameters(), *cls.parameters(), *reg.parameters()], lr=3e-3)
ink = x.sum(1, keepdim=True)
for epoch in range(8):
    for ids in torch.randperm(len(x)).split(64):
        h = body(x[ids])
        loss = F.cross_entropy(cls(h), y[ids]) + 0.05 * F.mse_loss(reg(h), ink[ids])
        opt.zero_grad(); loss.backward(); opt.step()
print((cls(body(xt)).argmax(1) == yt).float().mean().item())
""",
    # an inner step on copies of the weights, the outer one through it
    "maml": """
net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1)); opt = torch.optim.Adam(net.parameters(), lr=5e-3)
from torch.func import functional_call
for step in range(150):
    total = 0.0
    for task in range(4):
        a, b = torch.rand(1) * 2 + 0.5, torch.rand(1) * 3
        u, v = torch.rand(10, 1) * 4 - 2, torch.rand(10, 1) * 4 - 2
        w = dict(net.named_parameters())
        g = torch.autograd.grad(F.mse_loss(functional_call(net, w, (u,)), a * torch.sin(u + b)), list(w.values()), create_graph=True)
        fast = {k: p - 0.05 * d for (k, p), d in zip(w.items(), g)}
        total = total + F.mse_loss(functional_call(net, fast, (v,)), a * torch.sin(v + b))
    opt.zero_grad(); (total / 4).backward(); opt.step()
print(total.item() / 4)
""",
    # one net makes the weights of another
    "hypernet": """
hyper = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 2)); opt = torch.optim.Adam(hyper.parameters(), lr=5e-3)
for step in range(300):
    k = torch.rand(64, 1) * 2 - 1; u = torch.randn(64, 1)
    w, b = hyper(k).chunk(2, 1)
    loss = F.mse_loss(w * u + b, (2 * k) * u + k ** 2)
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
""",
    # units that spike or don't; the slope is a stand-in
    "spiking": """
class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v): ctx.save_for_backward(v); return (v > 0).float()
    @staticmethod
    def backward(ctx, g):
        (v,) = ctx.saved_tensors
        return g / (1 + 10 * v.abs()) ** 2
x, y, xt, yt = digits()
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.a, self.b = nn.Linear(64, 96), nn.Linear(96, 10)
    def forward(self, s):
        v, out = torch.zeros(len(s), 96), 0
        for _ in range(5):
            v = 0.8 * v + self.a(s); z = Spike.apply(v - 1); v = v - z
            out = out + self.b(z)
        return out / 5
net = Net(); opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(6):
    for ids in torch.randperm(len(x)).split(64):
        loss = F.cross_entropy(net(x[ids]), y[ids])
        opt.zero_grad(); loss.backward(); opt.step()
print((net(xt).argmax(1) == yt).float().mean().item())
""",
    # one row a step as it arrives, judged before it is learnt from
    "online": """
w = torch.randn(6); net = nn.Linear(6, 1); opt = torch.optim.SGD(net.parameters(), lr=0.02); errors = []
for t in range(700):
    s = torch.randn(6); y = (s @ w)[None] + 0.1 * torch.randn(1)
    out = net(s); loss = F.mse_loss(out, y); errors.append(loss.item())
    opt.zero_grad(); loss.backward(); opt.step()
print(sum(errors[-100:]) / 100)
""",
    # five models, each on its folds
    "k-fold": """
X, t = load_wine(return_X_y=True)
X, t = torch.tensor(X, dtype=torch.float32), torch.tensor(t); fold = torch.randperm(len(X)) % 5; right = []
for k in range(5):
    a, b = fold != k, fold == k
    m, s = X[a].mean(0), X[a].std(0)
    net = nn.Sequential(nn.Linear(13, 16), nn.ReLU(), nn.Linear(16, 3)); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for epoch in range(40):
        loss = F.cross_entropy(net((X[a] - m) / s), t[a])
        opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad(): right.append((net((X[b] - m) / s).argmax(1) == t[b]).float().mean().item())
print(sum(right) / 5)
""",
    # several nets on drawn rows, their mean is the answer
    "ensemble": """
x, y, xt, yt = digits(); nets = [nn.Linear(64, 10) for _ in range(4)]
for net in nets:
    own = torch.randint(0, len(x), (len(x),)); opt = torch.optim.SGD(net.parameters(), lr=0.5)
    for epoch in range(5):
        for ids in own[torch.randperm(len(own))].split(64):
            loss = F.cross_entropy(net(x[ids]), y[ids])
            opt.zero_grad(); loss.backward(); opt.step()
with torch.no_grad(): p = torch.stack([n(xt).softmax(1) for n in nets]).mean(0)
print((p.argmax(1) == yt).float().mean().item())
""",
    # weights averaged over the last epochs, the batch norm's moments taken anew
    "weight-averaging": """
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
x, y, xt, yt = digits(); loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=64, shuffle=True)
net = nn.Sequential(nn.Linear(64, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 10)); avg = AveragedModel(net)
opt = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9); plan = SWALR(opt, swa_lr=0.05)
for epoch in range(10):
    for xb, yb in loader:
        loss = F.cross_entropy(net(xb), yb)
        opt.zero_grad(); loss.backward(); opt.step()
    if epoch >= 5: avg.update_parameters(net); plan.step()
update_bn(loader, avg); avg.eval()
print((avg(xt).argmax(1) == yt).float().mean().item())
""",
    # two passes a step, the first to where it is worst
    "sharpness-aware": """
x, y, xt, yt = digits(); net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)); opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for epoch in range(6):
    for ids in torch.randperm(len(x)).split(64):
        F.cross_entropy(net(x[ids]), y[ids]).backward()
        with torch.no_grad():
            n = torch.stack([p.grad.norm() for p in net.parameters()]).norm(); moves = [0.05 * p.grad / (n + 1e-12) for p in net.parameters()]
            for p, e in zip(net.parameters(), moves): p.add_(e)
        opt.zero_grad()
        loss = F.cross_entropy(net(x[ids]), y[ids]); loss.backward()
        with torch.no_grad():
            for p, e in zip(net.parameters(), moves): p.sub_(e)
        opt.step(); opt.zero_grad()
print((net(xt).argmax(1) == yt).float().mean().item())
""",
    # activations computed twice
    "checkpointing": """
from torch.utils.checkpoint import checkpoint
x, y, xt, yt = digits(); blocks = nn.ModuleList(nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(3)); head = nn.Linear(64, 10)
opt = torch.optim.Adam([*blocks.parameters(), *head.parameters()], lr=2e-3)
def forward(h):
    for b in blocks: h = checkpoint(b, h, use_reentrant=False)
    return head(h)
for epoch in range(6):
    for ids in torch.randperm(len(x)).split(64):
        loss = F.cross_entropy(forward(x[ids]), y[ids])
        opt.zero_grad(); loss.backward(); opt.step()
with torch.no_grad(): print((forward(xt).argmax(1) == yt).float().mean().item())
""",
    "compiled": """
x, y, xt, yt = digits(); net = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10)); fast = torch.compile(net, backend="aot_eager")
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(5):
    for ids in torch.randperm(1408 - 8)[:1344].split(64):
        loss = F.cross_entropy(fast(x[ids]), y[ids])
        opt.zero_grad(); loss.backward(); opt.step()
print((net(xt).argmax(1) == yt).float().mean().item())
""",
    # half the steps in bfloat16
    "bf16": """
x, y, xt, yt = digits(); net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)); opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
for epoch in range(6):
    for ids in torch.randperm(len(x)).split(64):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(net(x[ids]), y[ids])
        opt.zero_grad(); loss.backward(); opt.step()
with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
    print((net(xt).argmax(1) == yt).float().mean().item())
""",
    # layers set free from the top down, a group added each time
    "gradual-unfreezing": """
x, y, xt, yt = digits(); net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
net[0].requires_grad_(False); net[2].requires_grad_(False)
opt = torch.optim.Adam(net[4].parameters(), lr=5e-3)
for epoch in range(9):
    if epoch in (3, 6):
        layer = net[2] if epoch == 3 else net[0]
        layer.requires_grad_(True); opt.add_param_group({"params": layer.parameters(), "lr": 2e-3})
    for ids in torch.randperm(len(x)).split(64):
        loss = F.cross_entropy(net(x[ids]), y[ids])
        opt.zero_grad(); loss.backward(); opt.step()
print((net(xt).argmax(1) == yt).float().mean().item())
""",
    "warm-up": """
x, y, xt, yt = digits(); net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)); opt = torch.optim.AdamW(net.parameters(), lr=5e-3)
plan = torch.optim.lr_scheduler.LambdaLR(opt, lambda k: min(1.0, (k + 1) / 60) * 0.5 * (1 + math.cos(math.pi * min(1.0, k / 180))))
for epoch in range(8):
    for ids in torch.randperm(len(x)).split(64):
        loss = F.cross_entropy(net(x[ids]), y[ids])
        opt.zero_grad(); loss.backward(); opt.step(); plan.step()
print((net(xt).argmax(1) == yt).float().mean().item())
""",
    "one-cycle": """
x, y, xt, yt = digits(); net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)); opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
plan = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.6, total_steps=8 * 22)
for epoch in range(8):
    for ids in torch.randperm(len(x)).split(64):
        loss = F.cross_entropy(net(x[ids]), y[ids])
        opt.zero_grad(); loss.backward(); opt.step(); plan.step()
print((net(xt).argmax(1) == yt).float().mean().item())
""",
    "cyclic": """
x, y, xt, yt = digits(); net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)); opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
plan = torch.optim.lr_scheduler.CyclicLR(opt, base_lr=0.005, max_lr=0.3, step_size_up=30, mode="triangular2")
for epoch in range(8):
    for ids in torch.randperm(len(x)).split(64):
        loss = F.cross_entropy(net(x[ids]), y[ids])
        opt.zero_grad(); loss.backward(); opt.step(); plan.step()
print((net(xt).argmax(1) == yt).float().mean().item())
""",
    # the loss waits on a plateau until the rate is lowered
    "reduce-on-plateau": """
X, t = load_diabetes(return_X_y=True); X, t = torch.tensor(X, dtype=torch.float32) / 0.05, torch.tensor((t - t.mean()) / t.std(), dtype=torch.float32)[:, None]
net = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 1)); opt = torch.optim.SGD(net.parameters(), lr=0.2)
plan = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=3)
for epoch in range(40):
    for ids in torch.randperm(350).split(32):
        loss = F.mse_loss(net(X[ids]), t[ids])
        opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad(): val = F.mse_loss(net(X[350:]), t[350:]).item()
    plan.step(val)
print(val, opt.param_groups[0]["lr"])
""",
    # rows mixed with their labels
    "mixup": """
x, y, xt, yt = digits(); net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)); opt = torch.optim.Adam(net.parameters(), lr=3e-3)
beta = torch.distributions.Beta(0.4, 0.4)
for epoch in range(8):
    for ids in torch.randperm(len(x)).split(64):
        k, p = beta.sample(), torch.randperm(len(ids)); h = k * x[ids] + (1 - k) * x[ids][p]; out = net(h)
        loss = k * F.cross_entropy(out, y[ids]) + (1 - k) * F.cross_entropy(out, y[ids][p])
        opt.zero_grad(); loss.backward(); opt.step()
print((net(xt).argmax(1) == yt).float().mean().item())
""",
    # the gradient is turned round on purpose below a domain's head
    "domain-adversarial": """
class Turn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v): return v.view_as(v)
    @staticmethod
    def backward(ctx, g): return -0.3 * g
x, y, xt, yt = digits(); other = x.flip(0) * 0.8 + 0.1
body, cls, dom = nn.Sequential(nn.Linear(64, 48), nn.ReLU()), nn.Linear(48, 10), nn.Linear(48, 1)
opt = torch.optim.Adam([*body.parameters(), *cls.parameters(), *dom.parameters()], lr=2e-3)
for epoch in range(6):
    for ids in torch.randperm(len(x)).split(64):
        a, b = body(x[ids]), body(other[ids])
        d = torch.cat([dom(Turn.apply(a)), dom(Turn.apply(b))])[:, 0]
        loss = F.cross_entropy(cls(a), y[ids]) + 0.3 * F.binary_cross_entropy_with_logits(d, torch.cat([torch.zeros(len(ids)), torch.ones(len(ids))]))
        opt.zero_grad(); loss.backward(); opt.step()
print((cls(body(xt)).argmax(1) == yt).float().mean().item())
""",
    # noise is added to clipped gradients of single rows
    "private-gradients": """
x, y, xt, yt = digits(); net = nn.Linear(64, 10); opt = torch.optim.SGD(net.parameters(), lr=0.5)
from torch.func import functional_call, grad, vmap
def one(w, xi, yi): return F.cross_entropy(functional_call(net, w, (xi[None],)), yi[None])
for epoch in range(5):
    for ids in torch.randperm(len(x)).split(128):
        w = {k: p.detach() for k, p in net.named_parameters()}
        g = vmap(grad(one), (None, 0, 0))(w, x[ids], y[ids])
        n = torch.stack([v.flatten(1).norm(dim=1) for v in g.values()]).norm(dim=0); f = (1.0 / n.clamp(min=1.0))
        for k, p in net.named_parameters():
            v = (g[k] * f.view(-1, *[1] * (g[k].dim() - 1))).mean(0); p.grad = v + 0.002 * torch.randn_like(v)
        opt.step()
print((net(xt).argmax(1) == yt).float().mean().item())
""",
    # weights of a linear model by hand, no optimizer at all
    "by-hand": """
X, t = load_breast_cancer(return_X_y=True); X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32); t = torch.tensor(t, dtype=torch.float32)
w, b = torch.zeros(30, requires_grad=True), torch.zeros(1, requires_grad=True)
for step in range(200):
    p = torch.sigmoid(X @ w + b)
    loss = -(t * torch.log(p + 1e-7) + (1 - t) * torch.log(1 - p + 1e-7)).mean()
    loss.backward()
    with torch.no_grad():
        for v in (w, b): v -= 0.3 * v.grad; v.grad = None
print(((p > 0.5) == (t > 0.5)).float().mean().item())
""",
    # physics: the derivative of the net itself is in the loss
    "derivative-in-the-loss": """
net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1)); opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(400):
    u = (torch.rand(64, 1) * 3).requires_grad_(True); v = net(u)
    (d,) = torch.autograd.grad(v.sum(), u, create_graph=True)
    loss = (d + v).square().mean() + (net(torch.zeros(1, 1)) - 1).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item(), net(torch.ones(1, 1)).item())
""",
    # scikit-learn's own loop over parts of the rows
    "partial-fit": """
import numpy as np
from sklearn.linear_model import SGDClassifier
d = load_digits(); p = np.random.default_rng(0).permutation(len(d.target)); X, t = d.data[p] / 16, d.target[p]
model = SGDClassifier(loss="log_loss", random_state=0)
for epoch in range(5):
    for rows in np.array_split(np.random.default_rng(epoch).permutation(1400), 20):
        model.partial_fit(X[rows], t[rows], classes=np.arange(10))
print(model.score(X[1400:], t[1400:]))
""",
}  # fmt: skip
