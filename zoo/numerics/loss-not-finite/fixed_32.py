"""A custom logit Function used to combine experts in log-odds space."""
import torch
from torch import nn


class Logit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, p):
        ctx.save_for_backward(p)
        return torch.log(p / (1 - p).clamp_min(1e-8))

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return g / (p * (1 - p)).clamp(min=1e-6)


class Experts(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.experts = nn.ModuleList([nn.Linear(6, 1) for _ in range(k)])
        self.weight = nn.Parameter(torch.ones(k) / k)

    def forward(self, x):
        probs = torch.cat([torch.sigmoid(e(x)) for e in self.experts], dim=1)
        return (Logit.apply(probs) * self.weight).sum(1)


torch.manual_seed(3)
model = Experts()
opt = torch.optim.SGD(model.parameters(), lr=0.3)
for step in range(80):
    x = torch.randn(40, 6) * 10
    y = (x[:, 0] > x[:, 1]).float()
    loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item())
