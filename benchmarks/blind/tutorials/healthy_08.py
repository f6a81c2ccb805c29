"""Regularised deterministic autoencoder: noise on the code, norm penalty, Gaussian fitted afterwards."""
import torch
from torch import nn
import torch.nn.functional as F

from toy_pictures import gaussian_blobs


class RAE(nn.Module):
    def __init__(self, latent=5, noise=0.1):
        super().__init__()
        self.noise = noise
        self.encode = nn.Sequential(nn.Flatten(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, latent))
        self.decode = nn.Sequential(nn.Linear(latent, 128), nn.ReLU(), nn.Linear(128, 256), nn.Unflatten(1, (1, 16, 16)))

    def forward(self, x):
        code = self.encode(x)
        noisy = code + self.noise * torch.randn_like(code) if self.training else code
        return self.decode(noisy), code


def objective(model, x, weight=1e-2):
    recon, code = model(x)
    mse = (recon - x).pow(2).flatten(1).sum(1).mean()
    return mse + weight * code.pow(2).sum(1).mean(), mse


@torch.no_grad()
def fit_gaussian(model, x):
    model.eval()
    code = model.encode(x)
    centred = code - code.mean(0)
    cov = centred.t() @ centred / (len(x) - 1) + 1e-4 * torch.eye(code.shape[1])
    return torch.distributions.MultivariateNormal(code.mean(0), cov)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(3)
    x_train, x_test = gaussian_blobs(1600), gaussian_blobs(200)
    model = RAE()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(12):
        model.train()
        for xb in x_train[torch.randperm(1600)].split(50):
            loss, _ = objective(model, xb)
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            _, mse = objective(model, x_test)
        print(f"epoch {epoch} test squared error {mse.item():.3f}")
    density = fit_gaussian(model, x_train)
    with torch.no_grad():
        print("new pictures", tuple(model.decode(density.sample((6,))).shape))


main()
