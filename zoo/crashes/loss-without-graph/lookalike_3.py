"""A weight scaled when it was made, moved by hand."""
import torch

torch.manual_seed(0)
inputs = torch.randn(64, 3)
targets = inputs.sum(dim=1)
weights = torch.randn(3, requires_grad=True) * 0.1

for step in range(20):
    loss = (inputs @ weights - targets).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        weights -= 0.1 * weights.grad
    print(f"step {step} loss {loss.item():.4f}")
