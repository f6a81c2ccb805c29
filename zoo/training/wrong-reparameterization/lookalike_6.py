"""An autoencoder with noise on its code, whose codes are drawn to a normal cloud by their distances."""
import torch
import torch.nn.functional as F
from torch import nn


def kernel(a, b):
    return torch.exp(-torch.cdist(a, b).pow(2) / a.shape[1]).mean()


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 3))
        self.decoder = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 20))
        self.gain = nn.Parameter(torch.tensor(0.1))

    def forward(self, x):
        code = self.encoder(x)
        noisy = code + self.gain * torch.randn_like(code) if self.training else code
        return self.decoder(noisy), code


torch.manual_seed(0)
lift = torch.randn(3, 20)
model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    x = torch.tanh(torch.randn(64, 3) @ lift)
    corrupted = x + 0.1 * torch.rand_like(x)
    rebuilt, code = model(corrupted)
    cloud = torch.randn_like(code)
    apart = kernel(code, code) + kernel(cloud, cloud) - 2 * kernel(code, cloud)
    loss = F.mse_loss(rebuilt, x) + apart + 1e-3 * (model.gain**2 - 2 * model.gain.abs().log())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
