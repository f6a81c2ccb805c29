# Wide two-layer network on small batches, with a loop that clears the gradients.
import torch
import torch.nn.functional as F
from torch import nn


def clear_gradients(model):
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad.zero_()


def train(model, x, y, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for step in range(steps):
        index = torch.randint(0, len(x), (4,))
        clear_gradients(model)
        loss = F.mse_loss(model(x[index]), y[index])
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step} loss {F.mse_loss(model(x[:200]), y[:200]).item():.4f}")


torch.manual_seed(5)
x = torch.randn(1000, 256)
y = torch.tanh(x[:, :8].sum(dim=1, keepdim=True) / 2)
train(nn.Sequential(nn.Linear(256, 12000), nn.ReLU(), nn.Linear(12000, 1)), x, y, 400)
