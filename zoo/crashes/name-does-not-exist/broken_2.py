"""Classify points with a network of two layers."""
import torch
import torch.nn.functional as F
from torch import nn


class Classifier(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.fc1 = nn.Linear(2, width)
        self.fc2 = nn.Linear(width, 3)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        return self.fc_2(x)


torch.manual_seed(0)
centers = torch.tensor([[2.0, 0.0], [-2.0, 1.0], [0.0, -2.0]])
model = Classifier()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(60):
    labels = torch.randint(0, 3, (32,))
    points = centers[labels] + 0.5 * torch.randn(32, 2)
    loss = F.cross_entropy(model(points), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
