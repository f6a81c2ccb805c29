"""BYOL: the target network is frozen and follows the online network by a moving average."""
import torch
from torch import nn


def mlp(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 64, bias=False), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, outputs))


class BYOL(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = mlp(24, 32)
        self.predictor = mlp(32, 32)
        self.target = mlp(24, 32)

    def forward(self, one, other):
        guess = nn.functional.normalize(self.predictor(self.online(one)), dim=1)
        with torch.no_grad():
            goal = nn.functional.normalize(self.target(other), dim=1)
        return 2 - 2 * (guess * goal).sum(dim=1).mean()

    @torch.no_grad()
    def follow(self, rate=0.01):
        for slow, fast in zip(self.target.parameters(), self.online.parameters()):
            slow.lerp_(fast, rate)


torch.manual_seed(0)
model = BYOL()
model.target.load_state_dict(model.online.state_dict())
for p in model.target.parameters():
    p.requires_grad = False
mix = torch.randn(6, 24)
optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=1e-3)
for step in range(150):
    x = torch.randn(128, 6) @ mix
    loss = model(x + 0.2 * torch.randn_like(x), x + 0.2 * torch.randn_like(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.follow()
print(loss.item())
