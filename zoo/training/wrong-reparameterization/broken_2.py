# Convolutional VAE: both heads from one layer, cut in two by chunk().
import torch
from torch import nn
from torch.nn import functional as F


class ConvVAE(nn.Module):
    def __init__(self, latent=6):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.SiLU(), nn.Conv2d(8, 16, 4, 2, 1), nn.SiLU())
        self.heads = nn.Linear(16 * 3 * 3, 2 * latent)
        self.grow = nn.Linear(latent, 16 * 3 * 3)
        self.up = nn.Sequential(
            nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.SiLU(), nn.ConvTranspose2d(8, 1, 4, 2, 1)
        )

    def forward(self, image):
        mu, logvar = self.heads(self.down(image).flatten(1)).chunk(2, dim=1)
        sigma = torch.exp(logvar)
        code = mu + sigma * torch.randn(mu.shape)
        return self.up(self.grow(code).view(-1, 16, 3, 3)), mu, logvar


torch.manual_seed(3)
net = ConvVAE()
adam = torch.optim.Adam(net.parameters(), lr=2e-3)
grid = torch.linspace(-1, 1, 12)
for step in range(120):
    centre = torch.rand(32, 2, 1, 1) - 0.5
    distance = (grid[None, :, None] - centre[:, 0]) ** 2 + (grid[None, None, :] - centre[:, 1]) ** 2
    images = torch.sigmoid(20 * (0.25 - distance)).unsqueeze(1)
    scores, mu, logvar = net(images)
    recon = F.binary_cross_entropy_with_logits(scores, images, reduction="none").sum((1, 2, 3)).mean()
    kl = 0.5 * (logvar.exp() + mu**2 - 1.0 - logvar).sum(1).mean()
    loss = recon + kl
    adam.zero_grad()
    loss.backward()
    adam.step()
    if step % 30 == 0:
        print(step, f"{recon.item():.2f} {kl.item():.3f}")
