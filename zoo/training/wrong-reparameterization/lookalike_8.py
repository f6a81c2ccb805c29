"""An information bottleneck in front of a classifier; its noise is scaled down by a temperature."""
import torch
import torch.nn.functional as F
from torch import nn

TEMPERATURE = 0.7


class Bottleneck(nn.Module):
    def __init__(self, size=16, classes=4, latent=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(size, 48), nn.ReLU(), nn.Linear(48, 2 * latent))
        self.classifier = nn.Linear(latent, classes)

    def forward(self, x):
        mu, log_sigma = self.encoder(x).split(6, 1)
        noise = TEMPERATURE * torch.randn_like(mu) if self.training else 0.0
        return self.classifier(mu + log_sigma.exp() * noise), mu, log_sigma


torch.manual_seed(0)
centres = torch.randn(4, 16)
model = Bottleneck()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    y = torch.randint(4, (64,))
    x = centres[y] + torch.randn(64, 16)
    scores, mu, log_sigma = model(x)
    rate = (0.5 * (mu**2 + (2 * log_sigma).exp() - 1) - log_sigma).mean()
    loss = F.cross_entropy(scores, y) + 1e-2 * rate
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item(), rate.item())
