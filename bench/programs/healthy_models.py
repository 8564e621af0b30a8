"""Healthy trainings of many kinds of models and objectives; the head is that of healthy.py."""

PROGRAMS = {
    # critic with clipped weights, more steps than the generator, losses that mean nothing by themselves
    "wgan-clipping": """
G, C = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2)), nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
og, oc = torch.optim.RMSprop(G.parameters(), lr=5e-4), torch.optim.RMSprop(C.parameters(), lr=5e-4)
for step in range(250):
    for _ in range(4):
        real = torch.randn(64, 2) * 0.5 + torch.tensor([2.0, -1.0])
        with torch.no_grad():
            fake = G(torch.randn(64, 2))
        c = C(fake).mean() - C(real).mean()
        oc.zero_grad(); c.backward(); oc.step()
        for p in C.parameters():
            p.data.clamp_(-0.1, 0.1)
    g = -C(G(torch.randn(64, 2))).mean()
    og.zero_grad(); g.backward(); og.step()
with torch.no_grad():
    print(G(torch.randn(1000, 2)).mean(0))
""",
    # the loss of a policy gradient is no measure of anything
    "reinforce": """
pi = nn.Linear(5, 3); opt = torch.optim.Adam(pi.parameters(), lr=0.05)
best = torch.tensor([2, 0, 1, 1, 2]); baseline = 0.0; got = []
for episode in range(250):
    s = torch.randint(0, 5, (20,))
    dist = torch.distributions.Categorical(logits=pi(F.one_hot(s, 5).float()))
    a = dist.sample()
    r = (a == best[s]).float()
    loss = -(dist.log_prob(a) * (r - baseline)).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    baseline = 0.9 * baseline + 0.1 * r.mean().item(); got.append(r.mean().item())
print(sum(got[-20:]) / 20)
""",
    # a target network that is never trained, only copied
    "q-learning": """
import copy, random
random.seed(1)
Q = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2)); target = copy.deepcopy(Q)
opt = torch.optim.Adam(Q.parameters(), lr=3e-3); memory, p = [], 2
for t in range(1500):
    s = F.one_hot(torch.tensor(p), 6).float()
    eps = max(0.1, 1 - t / 800)
    with torch.no_grad():
        a = random.randrange(2) if random.random() < eps else int(Q(s).argmax())
    p2 = min(5, max(0, p + (1 if a else -1)))
    r, done = float(p2 == 5), p2 in (0, 5)
    memory.append((p, a, r, p2, done)); p = 2 if done else p2
    if t > 100 and t % 3 == 0:
        b = random.sample(memory, 32)
        S, A, R, S2, D = (torch.tensor(v) for v in zip(*b))
        with torch.no_grad():
            y = R.float() + 0.9 * target(F.one_hot(S2, 6).float()).max(1).values * (~D.bool())
        q = Q(F.one_hot(S, 6).float()).gather(1, A[:, None])[:, 0]
        loss = F.smooth_l1_loss(q, y.float())
        opt.zero_grad(); loss.backward(); opt.step()
    if t % 100 == 0:
        target.load_state_dict(Q.state_dict())
print([int(Q(F.one_hot(torch.tensor(i), 6).float()).argmax()) for i in range(1, 5)])
""",
    # a codebook looked up by argmin, gradients carried straight through
    "vector-quantised": """
x, _, _, _ = digits()
enc, dec, book = nn.Linear(64, 8), nn.Linear(8, 64), nn.Parameter(torch.randn(32, 8) * 0.3)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters(), book], lr=3e-3)
for epoch in range(8):
    for ids in torch.randperm(len(x)).split(64):
        z = enc(x[ids])
        q = book[torch.cdist(z, book).argmin(1)]
        out = dec(z + (q - z).detach())
        loss = F.mse_loss(out, x[ids]) + F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
        opt.zero_grad(); loss.backward(); opt.step()
print(F.mse_loss(out, x[ids]).item())
""",
    # causal attention with -inf in the mask, next character
    "transformer-lm": """
text = "the quick brown fox jumps over the lazy dog and the dog sleeps " * 30
chars = sorted(set(text)); ids = torch.tensor([chars.index(c) for c in text])
class LM(nn.Module):
    def __init__(self, v, d=32):
        super().__init__()
        self.tok, self.pos = nn.Embedding(v, d), nn.Parameter(torch.zeros(24, d))
        self.layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(d, v, bias=False); self.head.weight = self.tok.weight
    def forward(self, t):
        h = self.tok(t) + self.pos[: t.shape[1]]
        mask = torch.full((t.shape[1], t.shape[1]), float("-inf")).triu(1)
        return self.head(self.layer(h, src_mask=mask))
net = LM(len(chars)); opt = torch.optim.AdamW(net.parameters(), lr=4e-3)
for step in range(200):
    at = torch.randint(0, len(ids) - 25, (16,))
    b = torch.stack([ids[i : i + 25] for i in at])
    loss = F.cross_entropy(net(b[:, :-1]).flatten(0, 1), b[:, 1:].flatten())
    opt.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(net.parameters(), 1.0); opt.step()
print(loss.item())
""",
    # ten binary problems; nearly all targets are 0
    "one-vs-rest": """
x, y, xt, yt = digits()
net = nn.Linear(64, 10); opt = torch.optim.SGD(net.parameters(), lr=2.0)
for epoch in range(12):
    for ids in torch.randperm(len(x)).split(64):
        loss = F.binary_cross_entropy_with_logits(net(x[ids]), F.one_hot(y[ids], 10).float())
        opt.zero_grad(); loss.backward(); opt.step()
print((net(xt).argmax(1) == yt).float().mean().item())
""",
    # several labels a row, weights for the rare ones
    "multi-label": """
X = torch.randn(1500, 12); W = torch.randn(12, 6); Y = (X @ W > 2.5).float()
pos = (1 - Y.mean(0)) / Y.mean(0)
net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 6)); opt = torch.optim.Adam(net.parameters(), lr=5e-3)
lossf = nn.BCEWithLogitsLoss(pos_weight=pos)
for epoch in range(8):
    for ids in torch.randperm(1200).split(64):
        loss = lossf(net(X[ids]), Y[ids])
        opt.zero_grad(); loss.backward(); opt.step()
with torch.no_grad():
    print(((net(X[1200:]) > 0).float() == Y[1200:]).float().mean().item())
""",
    # an L1 penalty that holds most codes at exactly 0
    "sparse-codes": """
x, _, _, _ = digits()
enc, dec = nn.Linear(64, 128), nn.Linear(128, 64, bias=False)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=2e-3)
for epoch in range(10):
    for ids in torch.randperm(len(x)).split(64):
        code = F.relu(enc(x[ids]))
        loss = F.mse_loss(dec(code), x[ids]) + 2e-3 * code.abs().mean()
        opt.zero_grad(); loss.backward(); opt.step()
        with torch.no_grad():
            dec.weight.div_(dec.weight.norm(dim=0, keepdim=True).clamp(min=1.0))
print(loss.item(), (code == 0).float().mean().item())
""",
    # easy rows are weighted down: the loss is small from the start
    "focal": """
X = torch.randn(3000, 8); t = ((X[:, 0] + X[:, 1] > 2.2)).float()
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
nn.init.constant_(net[-1].bias, -2.5)
def focal(z, t, gamma=2.0, alpha=0.75):
    p = torch.sigmoid(z); ce = F.binary_cross_entropy_with_logits(z, t, reduction="none")
    pt = p * t + (1 - p) * (1 - t)
    return ((alpha * t + (1 - alpha) * (1 - t)) * (1 - pt) ** gamma * ce).mean()
for epoch in range(8):
    for ids in torch.randperm(2400).split(128):
        loss = focal(net(X[ids])[:, 0], t[ids])
        opt.zero_grad(); loss.backward(); opt.step()
with torch.no_grad():
    p = net(X[2400:])[:, 0] > 0
print((p & (t[2400:] > 0)).sum().item() / t[2400:].sum().item())
""",
    # easy rows first, then all: the loss jumps up as harder ones come in
    "curriculum": """
X, t = load_diabetes(return_X_y=True)
X, t = torch.tensor(X, dtype=torch.float32) / 0.05, torch.tensor((t - t.mean()) / t.std(), dtype=torch.float32)[:, None]
hard = t.abs()[:, 0].argsort(); net = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9)
for epoch in range(20):
    use = hard[: int(len(hard) * min(1.0, 0.3 + epoch / 12))]
    for ids in use[torch.randperm(len(use))].split(32):
        loss = F.mse_loss(net(X[ids]), t[ids])
        opt.zero_grad(); loss.backward(); opt.step()
print(F.mse_loss(net(X), t).item())
""",
    # two views of a row against all other rows
    "simclr": """
x, y, xt, yt = digits()
enc, proj = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32)), nn.Sequential(nn.ReLU(), nn.Linear(32, 16))
opt = torch.optim.Adam([*enc.parameters(), *proj.parameters()], lr=2e-3)
def view(v): return v * (torch.rand_like(v) > 0.2) + 0.05 * torch.randn_like(v)
for epoch in range(6):
    for ids in torch.randperm(len(x)).split(128):
        z = F.normalize(torch.cat([proj(enc(view(x[ids]))), proj(enc(view(x[ids])))]), dim=1)
        s = (z @ z.T / 0.2).masked_fill(torch.eye(len(z), dtype=torch.bool), float("-inf"))
        n = len(ids); to = torch.cat([torch.arange(n) + n, torch.arange(n)])
        loss = F.cross_entropy(s, to)
        opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
""",
    # a teacher that is the average of its student
    "byol": """
import copy
x, _, _, _ = digits()
student = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 16))
predictor = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
teacher = copy.deepcopy(student).requires_grad_(False)
opt = torch.optim.Adam([*student.parameters(), *predictor.parameters()], lr=1e-3)
def view(v): return v + 0.1 * torch.randn_like(v)
for epoch in range(5):
    for ids in torch.randperm(len(x)).split(128):
        a, b = view(x[ids]), view(x[ids])
        with torch.no_grad(): ta, tb = teacher(a), teacher(b)
        loss = 4 - 2 * F.cosine_similarity(predictor(student(a)), tb).mean() - 2 * F.cosine_similarity(predictor(student(b)), ta).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        with torch.no_grad():
            for p, q in zip(student.parameters(), teacher.parameters()): q.lerp_(p, 0.02)
print(loss.item())
""",
    # most triplets are satisfied soon: their loss is exactly 0
    "triplet": """
x, y, xt, yt = digits()
net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)); opt = torch.optim.Adam(net.parameters(), lr=2e-3)
lossf = nn.TripletMarginLoss(margin=0.5); rows = [torch.where(y == c)[0] for c in range(10)]
for step in range(250):
    c = torch.randint(0, 10, (64,)); d = (c + torch.randint(1, 10, (64,))) % 10
    pick = lambda k: torch.stack([rows[i][torch.randint(0, len(rows[i]), (1,))[0]] for i in k.tolist()])
    loss = lossf(net(x[pick(c)]), net(x[pick(c)]), net(x[pick(d)]))
    opt.zero_grad(); loss.backward(); opt.step()
with torch.no_grad():
    near = torch.cdist(net(xt), net(x)).argmin(1)
print((y[near] == yt).float().mean().item())
""",
    # one tower for both sides of a pair
    "siamese": """
x, y, _, _ = digits()
tower = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 8)); opt = torch.optim.Adam(tower.parameters(), lr=3e-3)
for step in range(300):
    i, j = torch.randint(0, len(x), (64,)), torch.randint(0, len(x), (64,))
    same = (y[i] == y[j]).float()
    d = (tower(x[i]) - tower(x[j])).square().sum(1).add(1e-9).sqrt()
    loss = (same * d ** 2 + (1 - same) * F.relu(2 - d) ** 2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
""",
    # a frozen teacher's soft targets, temperature, a divergence next to a cross-entropy
    "distillation": """
x, y, xt, yt = digits()
teacher = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 10)); student = nn.Linear(64, 10)
ot = torch.optim.Adam(teacher.parameters(), lr=3e-3)
for epoch in range(5):
    for ids in torch.randperm(len(x)).split(64):
        ot.zero_grad(); F.cross_entropy(teacher(x[ids]), y[ids]).backward(); ot.step()
teacher.eval().requires_grad_(False)
os_ = torch.optim.Adam(student.parameters(), lr=5e-3); T = 3.0
for epoch in range(8):
    for ids in torch.randperm(len(x)).split(64):
        s = student(x[ids])
        with torch.no_grad(): t = teacher(x[ids])
        loss = 0.7 * T * T * F.kl_div(F.log_softmax(s / T, 1), F.softmax(t / T, 1), reduction="batchmean") + 0.3 * F.cross_entropy(s, y[ids])
        os_.zero_grad(); loss.backward(); os_.step()
print((student(xt).argmax(1) == yt).float().mean().item())
""",
    # a density's negative logarithm goes below zero
    "mixture-density": """
u = torch.rand(1500, 1) * 2 - 1; t = torch.sin(3 * u) * torch.where(torch.rand_like(u) > 0.5, 1.0, -1.0) + 0.05 * torch.randn_like(u)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 9)); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(400):
    ids = torch.randint(0, 1500, (128,))
    w, m, s = net(u[ids]).chunk(3, 1)
    logp = torch.log_softmax(w, 1) + torch.distributions.Normal(m, s.exp().clamp(min=1e-2)).log_prob(t[ids])
    loss = -torch.logsumexp(logp, 1).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
""",
    # a lopsided absolute error for each of three quantiles
    "quantiles": """
u = torch.rand(1500, 1) * 4; t = u + torch.randn_like(u) * (0.2 + u / 3)
q = torch.tensor([0.1, 0.5, 0.9])
net = nn.Sequential(nn.Linear(1, 24), nn.ReLU(), nn.Linear(24, 3)); opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(400):
    ids = torch.randint(0, 1500, (128,))
    e = t[ids] - net(u[ids])
    loss = torch.maximum(q * e, (q - 1) * e).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print((t < net(u)).float().mean(0))
""",
    # censored times under the proportional hazards likelihood
    "survival": """
X = torch.randn(600, 5); risk = X @ torch.tensor([1.0, -0.5, 0.0, 0.0, 0.8])
time_ = torch.distributions.Exponential(risk.exp()).sample(); end = torch.rand(600) * 3; event = (time_ < end).float(); seen = torch.minimum(time_, end)
order = seen.argsort(descending=True); X, event = X[order], event[order]
net = nn.Linear(5, 1, bias=False); opt = torch.optim.Adam(net.parameters(), lr=0.05)
for step in range(150):
    r = net(X)[:, 0]
    loss = -((r - torch.logcumsumexp(r, 0)) * event).sum() / event.sum()
    opt.zero_grad(); loss.backward(); opt.step()
print(net.weight.data)
""",
    # changes of variables: scale and shift in turn, a likelihood
    "flow": """
class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__(); self.flip, self.net = flip, nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 2)); nn.init.zeros_(self.net[-1].weight)
    def forward(self, v):
        a, b = v.chunk(2, 1) if not self.flip else v.chunk(2, 1)[::-1]
        s, t = self.net(a).chunk(2, 1); s = torch.tanh(s)
        b = b * s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], 1), s[:, 0]
layers = nn.ModuleList(Coupling(i % 2 == 1) for i in range(4)); opt = torch.optim.Adam(layers.parameters(), lr=3e-3)
for step in range(300):
    a = torch.randn(128, 1); v = torch.cat([a, a ** 2 * 0.5 + 0.2 * torch.randn(128, 1)], 1)
    total = 0
    for layer in layers:
        v, s = layer(v); total = total + s
    loss = -(torch.distributions.Normal(0, 1).log_prob(v).sum(1) + total).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
""",
    # the noise is the target: the loss has a floor near its start
    "denoiser": """
net = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2)); opt = torch.optim.Adam(net.parameters(), lr=2e-3)
beta = torch.linspace(1e-4, 0.2, 50); keep = (1 - beta).cumprod(0)
for step in range(500):
    angle = torch.rand(128) * 6.28; v = torch.stack([angle.cos(), angle.sin()], 1)
    k = torch.randint(0, 50, (128,)); noise = torch.randn_like(v)
    mixed = keep[k, None].sqrt() * v + (1 - keep[k, None]).sqrt() * noise
    loss = F.mse_loss(net(torch.cat([mixed, k[:, None] / 50], 1)), noise)
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
""",
    # all nodes in each step, the loss on the few that are labelled
    "graph-by-hand": """
n = 120; c = torch.arange(n) % 3
A = (torch.rand(n, n) < torch.where(c[:, None] == c[None], 0.15, 0.02)).float(); A = ((A + A.T) > 0).float() + torch.eye(n)
A = A / A.sum(1, keepdim=True); X = F.one_hot(c, 3).float() + 1.5 * torch.randn(n, 3); known = torch.zeros(n, dtype=torch.bool); known[:30] = True
class GCN(nn.Module):
    def __init__(self):
        super().__init__(); self.a, self.b = nn.Linear(3, 16), nn.Linear(16, 3)
    def forward(self, x): return A @ self.b(F.dropout(F.relu(A @ self.a(x)), 0.3, self.training))
net = GCN(); opt = torch.optim.Adam(net.parameters(), lr=0.02, weight_decay=1e-3)
for step in range(120):
    net.train(); loss = F.cross_entropy(net(X)[known], c[known])
    opt.zero_grad(); loss.backward(); opt.step()
net.eval()
print((net(X).argmax(1)[~known] == c[~known]).float().mean().item())
""",
    # two tables and their biases
    "matrix-factorisation": """
u, v = torch.randn(200, 3), torch.randn(150, 3)
i, j = torch.randint(0, 200, (12000,)), torch.randint(0, 150, (12000,)); r = 3.5 + (u[i] * v[j]).sum(1) * 0.5 + 0.1 * torch.randn(12000)
U, V, bu, bv = nn.Embedding(200, 4), nn.Embedding(150, 4), nn.Embedding(200, 1), nn.Embedding(150, 1)
for e in (U, V): nn.init.normal_(e.weight, std=0.1)
for e in (bu, bv): nn.init.zeros_(e.weight)
opt = torch.optim.Adam([p for e in (U, V, bu, bv) for p in e.parameters()], lr=1e-2, weight_decay=1e-6)
for epoch in range(5):
    for ids in torch.randperm(10000).split(256):
        out = 3.5 + (U(i[ids]) * V(j[ids])).sum(1) + bu(i[ids])[:, 0] + bv(j[ids])[:, 0]
        loss = F.mse_loss(out, r[ids])
        opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
""",
    # words by their neighbours, drawn counterexamples
    "word2vec": """
words = ("king queen man woman castle crown " * 40 + "dog cat bone milk paw tail " * 40).split()
vocab = sorted(set(words)); w = torch.tensor([vocab.index(x) for x in words])
inn, out = nn.Embedding(len(vocab), 8), nn.Embedding(len(vocab), 8); nn.init.zeros_(out.weight)
opt = torch.optim.Adam([*inn.parameters(), *out.parameters()], lr=0.02)
for step in range(250):
    at = torch.randint(2, len(w) - 2, (64,)); near = w[at + torch.tensor([-2, -1, 1, 2])[torch.randint(0, 4, (64,))]]
    other = torch.randint(0, len(vocab), (64, 4))
    h = inn(w[at])
    loss = -(F.logsigmoid((h * out(near)).sum(1)) + F.logsigmoid(-(h[:, None] * out(other)).sum(2)).sum(1)).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
""",
    # longer inputs than outputs, a blank between
    "ctc": """
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.rnn, self.out = nn.GRU(8, 32, batch_first=True), nn.Linear(32, 6)
    def forward(self, s): return self.out(self.rnn(s)[0]).log_softmax(2)
net, lossf = Net(), nn.CTCLoss(zero_infinity=True); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
code = torch.randn(6, 8)
for step in range(120):
    t = torch.randint(1, 6, (16, 4)); s = code[t.repeat_interleave(3, 1)] + 0.3 * torch.randn(16, 12, 8)
    loss = lossf(net(s).transpose(0, 1), t, torch.full((16,), 12), torch.full((16,), 4))
    opt.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(net.parameters(), 5.0); opt.step()
print(loss.item())
""",
}  # fmt: skip
