"""Samples for a picture are drawn from a fixed seed inside a fork of the random state."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)
data = torch.randn(400, 2) * torch.tensor([2.0, 0.5]) + 1
loader = DataLoader(TensorDataset(data), batch_size=40, shuffle=True)
encoder, decoder = nn.Linear(2, 4), nn.Linear(2, 2)
opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
for epoch in range(8):
    for (x,) in loader:
        mean, log_variance = encoder(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        divergence = 0.5 * (mean**2 + log_variance.exp() - log_variance - 1).sum(1).mean()
        loss = (decoder(z) - x).pow(2).sum(1).mean() + 0.1 * divergence
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        samples = decoder(torch.randn(16, 2))
    print(epoch, round(loss.item(), 4), samples.mean(0).tolist())
