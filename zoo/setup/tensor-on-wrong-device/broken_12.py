"""A variational autoencoder whose loss is an object of its own."""
import torch
from torch import nn


class VAELoss:
    def __init__(self, latent):
        self.prior_scale = torch.linspace(0.5, 1.5, latent)

    def __call__(self, x, out, mean):
        scaled = mean / self.prior_scale
        return (out - x).square().mean() + 0.01 * scaled.square().mean()


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(8, 3)
        self.decoder = nn.Linear(3, 8)

    def forward(self, x):
        mean = self.encoder(x)
        return self.decoder(mean + 0.1 * torch.randn_like(mean)), mean


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    net = Autoencoder().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    criterion = VAELoss(3)
    data = torch.randn(256, 3) @ torch.randn(3, 8)
    for step in range(60):
        x = data[torch.randint(0, 256, (32,))].to(device)
        out, mean = net(x)
        loss = criterion(x, out, mean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")


main()
