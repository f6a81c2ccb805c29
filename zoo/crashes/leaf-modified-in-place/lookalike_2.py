"""An update by hand that meets a gradient that was never computed."""
import torch

torch.manual_seed(0)
x, y = torch.randn(50, 2), torch.randn(50, 1)
w = torch.zeros(2, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for step in range(3):
    loss = (x @ w - y).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        b -= 0.1 * b.grad
