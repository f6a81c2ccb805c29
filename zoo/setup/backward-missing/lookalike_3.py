"""Gradients from torch.autograd.grad, handed to the optimizer; a batch with an odd label is skipped."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(7)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.RMSprop(net.parameters(), lr=2e-3)
weights = list(net.parameters())
means = torch.randn(3, 6) * 2

for step in range(200):
    optimizer.zero_grad()
    labels = torch.randint(0, 3, (24,))
    loss = F.cross_entropy(net(means[labels] + torch.randn(24, 6)), labels)
    if step % 5 != 4:
        for weight, gradient in zip(weights, torch.autograd.grad(loss, weights)):
            weight.grad = gradient
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
