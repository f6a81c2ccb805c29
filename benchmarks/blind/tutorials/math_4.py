# VAE with a rising weight of the KL term.
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from toy_pictures import gaussian_blobs

config = dict(latent=6, hidden=128, epochs=8, batch_size=40, lr=1e-3, warmup=100, beta_max=1.0)


class BetaSchedule:
    def __init__(self, warmup, top):
        self.warmup, self.top, self.t = warmup, top, 0

    def __call__(self):
        self.t += 1
        return self.top * min(1.0, self.t / self.warmup)


class Net(nn.Module):
    def __init__(self, latent, hidden):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(256, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.mean_layer = nn.Linear(hidden, latent)
        self.logvar_layer = nn.Linear(hidden, latent)
        self.out = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                                 nn.Linear(hidden, 256), nn.Unflatten(1, (1, 16, 16)))

    def reparameterize(self, mean, logvar):
        sigma = torch.exp(logvar * 0.5)
        noise = torch.rand_like(sigma)
        return noise * sigma + mean

    def forward(self, x):
        feats = self.body(x)
        mean, logvar = self.mean_layer(feats), self.logvar_layer(feats)
        return self.out(self.reparameterize(mean, logvar)), mean, logvar


def compute(model, x):
    logits, mean, logvar = model(x)
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(dim=(1, 2, 3)).mean()
    kl = -0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum(dim=1).mean()
    return rec, kl


torch.set_num_threads(1)
torch.manual_seed(123)
loader = DataLoader(TensorDataset(gaussian_blobs(1600)), batch_size=config["batch_size"], shuffle=True)
net = Net(config["latent"], config["hidden"])
opt = torch.optim.Adam(net.parameters(), lr=config["lr"])
beta = BetaSchedule(config["warmup"], config["beta_max"])

for epoch in range(config["epochs"]):
    tot_rec = tot_kl = 0.0
    for (x,) in loader:
        weight = beta()
        rec, kl = compute(net, x)
        loss = rec + weight * kl
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot_rec += rec.item()
        tot_kl += kl.item()
    print(f"epoch {epoch}  beta {weight:.2f}  rec {tot_rec / len(loader):.2f}  kl {tot_kl / len(loader):.2f}")

with torch.no_grad():
    pictures = torch.sigmoid(net.out(torch.randn(8, config["latent"])))
print("generated", tuple(pictures.shape))
