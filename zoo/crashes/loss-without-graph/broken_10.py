"""A line through noisy points, its slopes moved by hand."""
import torch

torch.manual_seed(0)
inputs = torch.randn(128, 3)
targets = inputs @ torch.tensor([1.5, -2.0, 0.5]) + 0.1 * torch.randn(128)


class Line:
    def __init__(self, size):
        self.slopes = torch.zeros(size, requires_grad=True)

    def predict(self, x):
        return x @ self.slopes

    def update(self, rate):
        self.slopes = self.slopes - rate * self.slopes.grad
        self.slopes.grad.zero_()


line = Line(3)
for step in range(100):
    loss = (line.predict(inputs) - targets).pow(2).mean()
    loss.backward()
    line.update(0.1)
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}")
