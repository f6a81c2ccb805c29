"""Linear regression with weights updated by hand."""
import torch

torch.manual_seed(0)
x = torch.randn(200, 3)
y = x @ torch.tensor([[2.0], [-1.0], [0.5]]) + 0.3
w = torch.zeros(3, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
lr = 0.1

for step in range(60):
    loss = (x @ w + b - y).pow(2).mean()
    loss.backward()
    for p in (w, b):
        with torch.no_grad():
            p -= lr * p.grad
        p.grad.zero_()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.4f}")
