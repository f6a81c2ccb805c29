"""A ladder of two latent layers: the lower one's prior is made by the upper one."""
import torch
from torch import nn


def mlp(size, out):
    return nn.Sequential(nn.Linear(size, 48), nn.SiLU(), nn.Linear(48, out))


def draw(mean, log_var):
    return mean + (0.5 * log_var).exp() * torch.randn_like(mean)


class Ladder(nn.Module):
    def __init__(self, size=24, lower=4, upper=2):
        super().__init__()
        self.encode_lower, self.encode_upper = mlp(size, 2 * lower), mlp(lower, 2 * upper)
        self.decode_lower, self.decode_data = mlp(upper, 2 * lower), mlp(lower, size)

    def forward(self, x):
        mean1, log_var1 = self.encode_lower(x).chunk(2, 1)
        z1 = draw(mean1, log_var1)
        mean2, log_var2 = self.encode_upper(z1).chunk(2, 1)
        z2 = draw(mean2, log_var2)
        prior_mean, prior_log_var = self.decode_lower(z2).chunk(2, 1)
        kl2 = 0.5 * (mean2**2 + log_var2.exp() - 1 - log_var2).sum(1)
        gap = (mean1 - prior_mean) ** 2 + log_var1.exp()
        kl1 = 0.5 * (gap / prior_log_var.exp() - 1 - log_var1 + prior_log_var).sum(1)
        return self.decode_data(z1), (kl1 + kl2).mean()


torch.manual_seed(0)
lift = torch.randn(3, 24)
model = Ladder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(200):
    x = torch.tanh(torch.randn(64, 3) @ lift)
    rebuilt, kl = model(x)
    error = 5 * ((rebuilt - x) ** 2).sum(1).mean()
    loss = error + kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, error.item(), kl.item())
