"""Trains a classifier with a binarized layer and an adversarial domain head: both change gradients on purpose."""
import torch
from torch import nn

torch.manual_seed(0)


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Linear(8, 32)
        self.label = nn.Linear(32, 2)
        self.domain = nn.Linear(32, 2)

    def forward(self, x):
        x = Binarize.apply(self.features(x))
        return self.label(x), self.domain(Reverse.apply(x, 0.1))


inputs = torch.randn(256, 8)
labels = (inputs[:, 0] + inputs[:, 1] > 0).long()
domains = (inputs[:, 7] > 0).long()
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for step in range(120):
    batch = torch.randint(0, 256, (64,))
    label_scores, domain_scores = model(inputs[batch])
    loss = nn.functional.cross_entropy(label_scores, labels[batch])
    loss = loss + nn.functional.cross_entropy(domain_scores, domains[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
