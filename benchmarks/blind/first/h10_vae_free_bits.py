import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(10)
D, Z, WARM = 40, 6, 100
factors = torch.randn(3, D)


def draw(n):
    z = torch.randn(n, 3)
    return torch.tanh(z @ factors) + 0.1 * torch.randn(n, D)


class VAE(nn.Module):
    def __init__(self, h=64):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(D, h), nn.ELU(), nn.Linear(h, 2 * Z))
        self.dec = nn.Sequential(nn.Linear(Z, h), nn.ELU(), nn.Linear(h, D))
        self.log_sigma = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, 1)
        logvar = logvar.clamp(-8, 4)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp() if self.training else mu
        return self.dec(z), mu, logvar


def terms(model, x):
    r, mu, logvar = model(x)
    nll = (0.5 * ((x - r) / model.log_sigma.exp()) ** 2 + model.log_sigma).sum(1).mean()
    kl_dim = 0.5 * (mu ** 2 + logvar.exp() - 1 - logvar).mean(0)
    return nll, kl_dim, F.mse_loss(r, x)


data = draw(3000)
val = draw(500)
loader = DataLoader(TensorDataset(data), batch_size=60, shuffle=True)
model = VAE()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
step = 0
for epoch in range(8):
    model.train()
    for (x,) in loader:
        beta = min(1.0, step / WARM)
        nll, kl_dim, _ = terms(model, x)
        loss = nll + beta * kl_dim.clamp(min=0.05).sum()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 20.0)
        opt.step()
        step += 1
    model.eval()
    with torch.no_grad():
        nll, kl_dim, mse = terms(model, val)
    print(f"epoch {epoch}: beta {beta:.2f} val nll {nll:.2f} kl {kl_dim.sum():.2f} mse {mse:.4f} active {(kl_dim > 0.1).sum().item()}")
