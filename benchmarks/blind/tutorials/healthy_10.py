"""VAE: softplus gives the posterior standard deviation directly."""
import torch
from torch import nn
from torch.nn.functional import softplus
from torch.utils.data import DataLoader, TensorDataset


def spiral_features(n, dim=30):
    t = torch.rand(n, 1) * 6
    r = torch.rand(n, 1) * 0.2 + t / 6
    flat = torch.cat([r * torch.cos(t), r * torch.sin(t), t / 6], 1)
    proj = torch.randn(3, dim)
    return flat @ proj + 0.05 * torch.randn(n, dim)


class SoftplusVAE(nn.Module):
    def __init__(self, dim=30, latent=3, hidden=96):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.loc = nn.Linear(hidden, latent)
        self.pre_scale = nn.Linear(hidden, latent)
        self.dec = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                                 nn.Linear(hidden, dim))

    def forward(self, x):
        h = self.enc(x)
        loc, scale = self.loc(h), softplus(self.pre_scale(h)) + 1e-4
        z = loc + scale * torch.randn_like(scale)
        return self.dec(z), loc, scale


def nelbo(model, x, obs_std=0.2):
    xr, loc, scale = model(x)
    rec = ((x - xr) ** 2).sum(1) / (2 * obs_std ** 2)
    kl = (0.5 * (loc ** 2 + scale ** 2 - 1) - scale.log()).sum(1)
    return (rec + kl).mean()


torch.set_num_threads(1)
torch.manual_seed(10)
dl = DataLoader(TensorDataset(spiral_features(2000)), batch_size=50, shuffle=True)
vae = SoftplusVAE()
optimiser = torch.optim.RMSprop(vae.parameters(), lr=5e-4)
for ep in range(8):
    running = 0.0
    for batch, in dl:
        optimiser.zero_grad()
        loss = nelbo(vae, batch)
        loss.backward()
        optimiser.step()
        running = 0.95 * running + 0.05 * loss.item() if running else loss.item()
    print("epoch", ep, "smoothed loss", round(running, 3))
