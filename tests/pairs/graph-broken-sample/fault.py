import torch
from torch import nn, distributions as D
from sklearn.datasets import load_digits


class VAE(nn.Module):
    def __init__(self, d=64, h=96, z=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, 2 * z))
        self.decoder = nn.Sequential(nn.Linear(z, h), nn.ReLU(), nn.Linear(h, d))

    def posterior(self, x):
        mu, log_var = self.encoder(x).chunk(2, dim=1)
        return D.Normal(mu, (0.5 * log_var).exp())

    def forward(self, x):
        q = self.posterior(x)
        z = q.sample()
        return self.decoder(z), q


def elbo_terms(model, x):
    recon, q = model(x)
    rec = nn.functional.mse_loss(recon, x, reduction="none").sum(1).mean() / (2 * 0.15 ** 2)
    kl = D.kl_divergence(q, D.Normal(0.0, 1.0)).sum(1).mean()
    return rec, kl


if __name__ == "__main__":
    torch.manual_seed(2)
    x = torch.tensor(load_digits().data / 16, dtype=torch.float32)
    x = x[torch.randperm(len(x))]
    train, test = x[:1400], x[1400:]
    vae = VAE()
    opt = torch.optim.Adam(vae.parameters(), lr=2e-3)
    for epoch in range(8):
        vae.train()
        for xb in train[torch.randperm(len(train))].split(70):
            rec, kl = elbo_terms(vae, xb)
            opt.zero_grad()
            (rec + kl).backward()
            opt.step()
        if epoch % 8 == 7:
            vae.eval()
            with torch.no_grad():
                rec, kl = elbo_terms(vae, test)
            print(f"epoch {epoch + 1}: test reconstruction {rec:.2f}  KL {kl:.3f}")
