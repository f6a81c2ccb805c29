"""An autoencoder of spring curves: trained, validated and sampled on the device that is there."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def curves(count):
    t = torch.linspace(0, 6, 40)
    rate, damping = torch.rand(count, 1) * 2 + 1, torch.rand(count, 1) * 0.5
    return torch.cos(rate * t) * torch.exp(-damping * t)


class CurveVAE(nn.Module):
    def __init__(self, points, hidden, latent):
        super().__init__()
        self.latent = latent
        self.encoder = nn.Sequential(nn.Linear(points, hidden), nn.ReLU(), nn.Linear(hidden, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, points))

    def forward(self, x):
        mean, log_var = self.encoder(x).chunk(2, dim=1)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_var)
        return self.decoder(z), mean, log_var


def loss_function(x, x_hat, mean, log_var):
    weights = torch.linspace(1.5, 0.5, x.size(1), device=x.device)
    divergence = -0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())
    return (weights * (x - x_hat).square()).sum() + 0.1 * divergence


def validate(model, loader):
    model.eval()
    error = torch.zeros(40)
    with torch.no_grad():
        for x, _ in loader:
            x_hat, _, _ = model(x.to(DEVICE))
            error += (x - x_hat.cpu()).square().mean(0)
    model.train()
    return error.mean()


def main():
    torch.manual_seed(5)
    train_set = TensorDataset(curves(512), torch.arange(512))
    train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
    test_loader = DataLoader(TensorDataset(curves(128), torch.arange(128)), batch_size=64)
    model = CurveVAE(40, 48, 3).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(12):
        total = 0.0
        residual = torch.zeros(40, device=DEVICE)
        for x, _ in train_loader:
            x = x.to(DEVICE, non_blocking=True)
            x_hat, mean, log_var = model(x)
            loss = loss_function(x, x_hat, mean, log_var)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            residual += (x - x_hat).detach().abs().mean(0)
        print(f"epoch {epoch}: {total / 512:.3f}, {validate(model, test_loader):.4f}, {residual.max():.3f}")
    with torch.no_grad():
        noise = torch.randn(16, 3).to(DEVICE)
        samples = model.decoder(noise).cpu()
    print("samples", samples.mean().item(), (samples - curves(16)).abs().mean().item())


main()
