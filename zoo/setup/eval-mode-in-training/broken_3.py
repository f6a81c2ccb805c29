"""Auto-encoder with dropout, trained after a first look at its reconstructions."""
import torch
from torch import nn


class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Dropout(0.4), nn.Linear(32, 8))
        self.dec = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.4), nn.Linear(32, 30))

    def forward(self, x):
        return self.dec(self.enc(x))

    def reconstruct(self, x):
        self.eval()
        with torch.no_grad():
            return self(x)


torch.manual_seed(8)
basis = torch.randn(6, 30)
sample = lambda n: torch.tanh(torch.randn(n, 6) @ basis)
model = AE()
probe = sample(64)
before = (model.reconstruct(probe) - probe).pow(2).mean()
opt = torch.optim.Adam(model.parameters(), 3e-3)
for i in range(200):
    x = sample(48)
    loss = nn.functional.mse_loss(model(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(before.item(), loss.item())
