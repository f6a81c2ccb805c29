"""A layer that is made at its first use, before there is an optimizer, and kept."""
import torch
from torch import nn


class Lazy(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.outputs = outputs
        self.hidden = None
        self.out = nn.Linear(32, outputs)

    def forward(self, x):
        if self.hidden is None:
            self.hidden = nn.Linear(x.shape[1], 32)
        return self.out(nn.ReLU()(self.hidden(x)))


torch.manual_seed(2)
model = Lazy(3)
centers = torch.randn(3, 7)
model(centers)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
criterion = nn.CrossEntropyLoss()
for step in range(200):
    labels = torch.randint(0, 3, (32,))
    loss = criterion(model(centers[labels] + 0.5 * torch.randn(32, 7)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
