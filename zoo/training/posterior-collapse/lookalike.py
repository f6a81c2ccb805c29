"""The same kind of model with sums for both terms: the KL term is small at first and is taken up later."""
import torch
from torch import nn
from torch.distributions import Normal, kl_divergence


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 6))

    def forward(self, x):
        mean, log_deviation = self.body(x).chunk(2, dim=-1)
        return Normal(mean, log_deviation.exp())


torch.manual_seed(1)
mixing = 2 * torch.randn(3, 16)
encoder, decoder = Encoder(), nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 16))
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)
prior = Normal(torch.zeros(3), torch.ones(3))
for step in range(350):
    x = torch.randn(64, 3) @ mixing + 0.1 * torch.randn(64, 16)
    posterior = encoder(x)
    output = decoder(posterior.rsample())
    weight = min(1.0, step / 200)
    loss = ((output - x) ** 2).sum(1).mean() + weight * kl_divergence(posterior, prior).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
