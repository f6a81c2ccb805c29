# Skip-gram with two large tables; the gradients are cleared by a small function.
import torch
import torch.nn.functional as F
from torch import nn


class SkipGram(nn.Module):
    def __init__(self, words, dim=48):
        super().__init__()
        self.center = nn.Embedding(words, dim)
        self.context = nn.Embedding(words, dim)

    def forward(self, center, context):
        return (self.center(center) * self.context(context)).sum(dim=1) / 7


def clear_gradients(model):
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad.zero_()


def pairs(n):
    center = torch.randint(0, 300, (n,))
    context = torch.randint(0, 300, (n,))
    return center, context, (center % 3 == context % 3).float()


def train(model, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=20.0)
    for step in range(steps):
        center, context, together = pairs(512)
        clear_gradients(model)
        loss = F.binary_cross_entropy_with_logits(model(center, context), together)
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f}")


torch.manual_seed(5)
train(SkipGram(80000), 120)
