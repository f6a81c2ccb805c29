"""Two-layer graph convolution on a ring of communities."""
import torch
from torch import nn
import torch.nn.functional as F


class GraphLayer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x, adjacency):
        return adjacency @ self.linear(x)


class GraphNet(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.layer1 = GraphLayer(features, features)
        self.layer2 = GraphLayer(features, features)
        self.out = nn.Linear(features, classes)

    def forward(self, x, adjacency):
        x = F.relu(self.layer1(x, adjacency))
        x = F.relu(self.layer1(x, adjacency))
        return self.out(x)


torch.manual_seed(10)
labels = torch.arange(90) % 6
same = labels[:, None] == labels[None, :]
adjacency = torch.rand(90, 90) < torch.where(same, 0.4, 0.05)
adjacency = (adjacency | adjacency.T | torch.eye(90, dtype=torch.bool)).float()
adjacency = adjacency / adjacency.sum(dim=1, keepdim=True)
features = torch.randn(90, 24) + torch.randn(6, 24)[labels]

model = GraphNet(24, 6)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=5e-4)
known = torch.rand(90) < 0.3
for epoch in range(150):
    optimizer.zero_grad()
    scores = model(features, adjacency)
    loss = F.cross_entropy(scores[known], labels[known])
    loss.backward()
    optimizer.step()
    if epoch % 30 == 0:
        accuracy = (scores.argmax(dim=1) == labels)[~known].float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.3f} accuracy {accuracy:.3f}")
