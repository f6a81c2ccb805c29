"""VAE of letter-like strokes."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(6)
encoder = nn.Sequential(nn.Linear(49, 64), nn.ReLU(), nn.Linear(64, 8))
decoder = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 49))
optimizer = torch.optim.AdamW([*encoder.parameters(), *decoder.parameters()], lr=2e-3)
shapes = (torch.rand(10, 49) < 0.25).float()
for step in range(150):
    x = shapes[torch.randint(10, (64,))]
    mu, log_var = encoder(x).split(4, dim=1)
    z = torch.addcmul(mu, torch.exp(log_var / 2), torch.randn_like(mu))
    error = F.binary_cross_entropy_with_logits(decoder(z), x, reduction="sum") / len(x)
    kl = -0.5 * (1 + log_var - mu**2).sum(1).mean()
    loss = error + kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, error.item(), kl.item())
