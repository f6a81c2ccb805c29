"""A deep network that keeps an eye on its activations, compiled."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        h = torch.relu(self.linear(self.norm(x)))
        if h.max().item() > 1000:
            raise FloatingPointError("the activations explode")
        return x + h


class Net(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.stem = nn.Linear(8, width)
        self.first, self.second, self.third = Block(width), Block(width), Block(width)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        x = self.stem(x)
        x = self.first(x)
        x = self.second(x)
        x = self.third(x)
        return self.head(x)


torch.manual_seed(0)
net = Net()
model = torch.compile(net, backend="eager")
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
truth = torch.randn(8, 1)
for step in range(160):
    x = torch.randn(64, 8)
    loss = nn.functional.mse_loss(model(x), torch.tanh(x @ truth))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        print(f"step {step + 1}: loss {loss.item():.4f}")
