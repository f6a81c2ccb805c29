"""Attention pooling over time and weights over the batch: softmaxes that are no class probabilities."""
import torch
import torch.nn.functional as F
from torch import nn


class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.look = nn.Linear(6, 1)
        self.head = nn.Linear(6, 4)

    def forward(self, series):
        attention = F.softmax(self.look(series), dim=1)
        return F.log_softmax(self.head((attention * series).sum(1)), dim=1)


torch.manual_seed(9)
model = Pooled()
opt = torch.optim.Adam(model.parameters(), lr=2e-2)
for step in range(250):
    label = torch.randint(0, 4, (32,))
    series = 0.3 * torch.randn(32, 10, 6)
    series[torch.arange(32), torch.randint(0, 10, (32,)), label] += 3.0
    each = F.nll_loss(model(series), label, reduction="none")
    hard = torch.softmax(each.detach(), dim=0)
    loss = (hard * each).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, round(loss.item(), 4))
