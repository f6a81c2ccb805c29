"""A network with binary codes in the middle, trained straight through the rounding."""
import torch
import torch.nn.functional as F
from torch import nn


class Codes(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(12, 10)
        self.outer = nn.Linear(10, 12)

    def forward(self, x):
        soft = torch.sigmoid(self.inner(x))
        code = soft + (soft.round() - soft).detach()
        return self.outer(code)


torch.manual_seed(1)
model = Codes()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
corners = torch.randn(6, 12)
for step in range(250):
    x = corners[torch.randint(0, 6, (48,))] + 0.1 * torch.randn(48, 12)
    loss = F.mse_loss(model(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, round(loss.item(), 4))
