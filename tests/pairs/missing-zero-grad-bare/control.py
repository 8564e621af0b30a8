# Recommender by hand: biased matrix factorisation with bare tensors
import torch

torch.manual_seed(99)
U, I, K, N = 300, 200, 6, 18000
true_u, true_i = torch.randn(U, 3) * 0.7, torch.randn(I, 3) * 0.7
user, item = torch.randint(U, (N,)), torch.randint(I, (N,))
stars = (3.5 + (true_u[user] * true_i[item]).sum(1) + 0.4 * torch.randn(I)[item] + 0.3 * torch.randn(N)).clamp(1, 5)
cut = 15000
mean = stars[:cut].mean()

P, Q = 0.1 * torch.randn(U, K), 0.1 * torch.randn(I, K)
bu, bi = torch.zeros(U), torch.zeros(I)
params = [P, Q, bu, bi]
for t in params:
    t.requires_grad_()


def score(u, i):
    return mean + bu[u] + bi[i] + (P[u] * Q[i]).sum(1)


lr, l2 = 6.0, 2e-4
for epoch in range(3):
    for idx in torch.randperm(cut).split(1000):
        err = score(user[idx], item[idx]) - stars[idx]
        loss = err.square().mean() + l2 * sum(t.square().sum() for t in params) / 100
        loss.backward()
        with torch.no_grad():
            for t in params:
                t -= lr * t.grad
                t.grad = None
    if epoch % 4 == 3:
        with torch.no_grad():
            rmse = lambda s: (score(user[s], item[s]) - stars[s]).square().mean().sqrt().item()
            print(f"epoch {epoch + 1:2d}  train rmse {rmse(slice(0, cut)):.3f}  held-out rmse {rmse(slice(cut, N)):.3f}  (mean only {stars[cut:].std():.3f})")
