"""Strong dropout on the inputs of a graph network on little data, as the papers do."""
import torch
from torch import nn


class GraphNet(nn.Module):
    def __init__(self, features=40, width=32, classes=3):
        super().__init__()
        self.drop = nn.Dropout(0.8)
        self.first = nn.Linear(features, width)
        self.second = nn.Linear(width, classes)

    def forward(self, x, adjacency):
        x = torch.relu(adjacency @ self.first(self.drop(x)))
        return adjacency @ self.second(x)


torch.manual_seed(1)
labels = torch.randint(0, 3, (90,))
features = torch.randn(3, 40)[labels] + torch.randn(90, 40)
same = (labels[:, None] == labels[None, :]).float()
edges = ((torch.rand(90, 90) < 0.02 + 0.1 * same).float() + torch.eye(90)).clamp(max=1)
adjacency = edges / edges.sum(1, keepdim=True)
model = GraphNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
for epoch in range(200):
    loss = nn.functional.cross_entropy(model(features, adjacency), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
