"""The gradient of a score with respect to an input that takes no part in it."""
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
image = torch.randn(8, 4, requires_grad=True)
noise = torch.randn(8, 4, requires_grad=True)
for step in range(3):
    score = model(image.detach() + 0.1).mean()
    (slope,) = torch.autograd.grad(score, noise)
    noise = (noise + slope).detach().requires_grad_()
