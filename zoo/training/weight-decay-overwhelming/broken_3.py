"""Forecast demand with an LSTM; AdamW with a group that decays and one that does not."""
import torch
from torch import nn


class Demand(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(2, 32, batch_first=True)
        self.norm = nn.Identity()
        self.fc = nn.Linear(32, 1)

    def forward(self, x):
        return self.fc(self.norm(self.lstm(x)[0][:, -1])).squeeze(1)


def groups(model):
    decay = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() <= 1]
    return [{"params": decay, "weight_decay": 100.0}, {"params": rest, "weight_decay": 0.0}]


torch.manual_seed(0)
model = Demand()
opt = torch.optim.AdamW(groups(model), lr=3e-3)
for step in range(250):
    t0 = torch.rand(32, 1) * 6
    t = t0 + torch.arange(13) * 0.5
    wave = torch.sin(t) + 0.05 * torch.randn(32, 13)
    x = torch.stack([wave[:, :12], torch.cos(t[:, :12])], -1)
    loss = nn.functional.mse_loss(model(x), wave[:, 12])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, loss.item())
