"""Recognise which of six noisy patterns an image shows, with a deep tanh network."""
import torch
import torch.nn as nn

torch.manual_seed(0)
patterns = torch.randn(6, 64)


def sample(count):
    label = torch.randint(0, 6, (count,))
    return patterns[label] + torch.randn(count, 64), label


class Net(nn.Module):
    def __init__(self, depth=5, width=40):
        super().__init__()
        sizes = [64] + [width] * depth
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.out = nn.Linear(width, 6)
        for layer in self.hidden:
            nn.init.normal_(layer.weight, std=3.0)

    def forward(self, x):
        for layer in self.hidden:
            x = torch.tanh(layer(x))
        return self.out(x)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
for step in range(300):
    image, label = sample(64)
    loss = nn.functional.cross_entropy(net(image), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 0:
        print(step, round(loss.item(), 4))
