"""Second derivatives by autograd.grad, of a function that is a straight line."""
import torch

torch.manual_seed(0)
points = torch.linspace(-1, 1, 16, requires_grad=True)
slope = torch.full((1,), 2.0)
for step in range(3):
    values = (slope * points).sum()
    (first,) = torch.autograd.grad(values, points, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), points)
    slope = slope + second.mean()
