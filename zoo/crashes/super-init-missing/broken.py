"""Two-layer classifier on four clusters of points."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Classifier(nn.Module):
    def __init__(self, n_features, n_hidden, n_classes):
        self.fc1 = nn.Linear(n_features, n_hidden)
        self.fc2 = nn.Linear(n_hidden, n_classes)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


torch.manual_seed(0)
centers = torch.randn(4, 8) * 2
model = Classifier(8, 32, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for step in range(80):
    y = torch.randint(0, 4, (32,))
    x = centers[y] + torch.randn(32, 8)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 3))
