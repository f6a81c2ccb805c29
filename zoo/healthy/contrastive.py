"""SimCLR-like contrastive learning: two noisy views, an (N, N) similarity matrix."""
import torch
import torch.nn.functional as F
from torch import nn


def info_nce(a, b, temperature=0.2):
    a, b = F.normalize(a, dim=1), F.normalize(b, dim=1)
    logits = a @ b.t() / temperature
    target = torch.arange(len(a))
    return (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2


def two_views(x):
    return x + 0.4 * torch.randn_like(x), x * (torch.rand_like(x) > 0.2)


def main(steps=200):
    torch.manual_seed(40)
    encoder = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))
    projector = nn.Sequential(nn.ReLU(), nn.Linear(32, 16))
    optimizer = torch.optim.Adam(list(encoder.parameters()) + list(projector.parameters()), lr=2e-3)
    latent = torch.randn(6, 32)
    for step in range(steps):
        x = torch.randn(64, 6) @ latent
        first, second = two_views(x)
        loss = info_nce(projector(encoder(first)), projector(encoder(second)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step}  info-nce {loss.item():.4f}")


if __name__ == "__main__":
    main()
