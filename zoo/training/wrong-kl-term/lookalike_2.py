"""Regression with noise on a hidden code: the code's size and the noise are kept small by two penalties."""
import torch
from torch import nn


class NoisyCode(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
        self.code, self.log_std = nn.Linear(32, 6), nn.Linear(32, 6)
        self.out = nn.Linear(6, 1)

    def forward(self, x):
        hidden = self.body(x)
        code, log_std = self.code(hidden), self.log_std(hidden)
        noisy = code + log_std.exp() * torch.randn_like(code)
        return self.out(noisy), code, log_std


torch.manual_seed(0)
model = NoisyCode()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
weights = torch.randn(10, 1)
for step in range(150):
    x = torch.randn(64, 10)
    y = torch.sin(x @ weights)
    prediction, code, log_std = model(x)
    error = (prediction - y).square().mean()
    loss = error + 1e-3 * code.square().mean() - 1e-2 * log_std.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
