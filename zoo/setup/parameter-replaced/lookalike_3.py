"""A VQ-VAE whose code book follows its encodings by moving averages."""
import torch
from torch import nn
from torch.nn import functional as F


class EmaCodebook(nn.Module):
    def __init__(self, codes, size, decay=0.95):
        super().__init__()
        self.embedding = nn.Embedding(codes, size)
        self._ema_w = nn.Parameter(torch.randn(codes, size))
        self.register_buffer("_count", torch.ones(codes))
        self.decay = decay

    def forward(self, z):
        indices = torch.cdist(z, self.embedding.weight).argmin(dim=1)
        onehot = F.one_hot(indices, len(self._count)).float()
        quantized = onehot @ self.embedding.weight
        if self.training:
            self._count = self.decay * self._count + (1 - self.decay) * onehot.sum(0)
            size = (self._count + 1e-3) / (self._count.sum() + 1e-3 * len(self._count)) * self._count.sum()
            self._ema_w = nn.Parameter(self.decay * self._ema_w + (1 - self.decay) * onehot.t() @ z)
            self.embedding.weight = nn.Parameter(self._ema_w / size.unsqueeze(1))
        commitment = F.mse_loss(quantized.detach(), z)
        return z + (quantized - z).detach(), 0.25 * commitment


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 8))
        self.codebook = EmaCodebook(32, 8)
        self.decoder = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, x):
        quantized, commitment = self.codebook(self.encoder(x))
        return self.decoder(quantized), commitment


torch.manual_seed(0)
centers = torch.randn(20, 16)
model = VQVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(200):
    x = centers[torch.randint(0, 20, (128,))] + 0.1 * torch.randn(128, 16)
    rebuilt, commitment = model(x)
    loss = F.mse_loss(rebuilt, x) + commitment
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
