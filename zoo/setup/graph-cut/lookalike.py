"""Vector-quantised autoencoder: the straight-through estimator and the two stop-gradients of its loss."""
import torch
from torch import nn
import torch.nn.functional as F


class VectorQuantizer(nn.Module):
    def __init__(self, codes=16, dim=4):
        super().__init__()
        self.codebook = nn.Parameter(0.5 * torch.randn(codes, dim))

    def forward(self, z):
        nearest = torch.cdist(z.detach(), self.codebook.detach()).argmin(dim=1)
        quantized = self.codebook[nearest]
        loss = F.mse_loss(quantized, z.detach()) + 0.25 * F.mse_loss(z, quantized.detach())
        return z + (quantized - z).detach(), loss


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
        self.quantizer = VectorQuantizer()
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, x):
        quantized, loss = self.quantizer(self.encoder(x))
        return self.decoder(quantized), loss


torch.manual_seed(2)
model = VQVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
centers = torch.randn(8, 10)
for step in range(250):
    x = centers[torch.randint(0, 8, (64,))] + 0.1 * torch.randn(64, 10)
    rebuilt, commitment = model(x)
    loss = F.mse_loss(rebuilt, x) + commitment
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, round(loss.item(), 4))
