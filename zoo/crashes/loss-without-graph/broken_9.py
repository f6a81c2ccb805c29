"""Logistic regression written without an optimizer."""
import torch

torch.manual_seed(0)
points = torch.randn(200, 2)
labels = (points[:, 0] - 2 * points[:, 1] > 0).float()
weights = torch.zeros(2, requires_grad=True)


def cross_entropy(scores, wanted):
    chance = torch.sigmoid(scores).clamp(1e-6, 1 - 1e-6)
    return -(wanted * chance.log() + (1 - wanted) * (1 - chance).log()).mean()


for step in range(120):
    loss = cross_entropy(points @ weights, labels)
    loss.backward()
    with torch.no_grad():
        weights = weights - 0.5 * weights.grad
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}")
