"""Learn embeddings without labels: two noisy views of a sample should agree."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
centers = torch.randn(6, 24)
encoder = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 16))
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-2)


def views(count=64):
    x = centers[torch.randint(0, 6, (count,))]
    return x + 0.5 * torch.randn(count, 24), x + 0.5 * torch.randn(count, 24)


for step in range(400):
    first, second = views()
    z1, z2 = encoder(first), encoder(second)
    loss = F.mse_loss(z1, z2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 0:
        print(step, loss.item(), z1.std(0).mean().item())
