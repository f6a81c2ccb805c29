"""Classifies sets of points: every set is pooled with weights that the model learns."""
import torch
from torch import nn


class SetClassifier(nn.Module):
    def __init__(self, features=8, width=32, classes=3):
        super().__init__()
        self.embed = nn.Linear(features, width)
        self.score = nn.Linear(width, 1)
        self.head = nn.Linear(width, classes)

    def forward(self, sets):
        points = torch.relu(self.embed(sets))
        pooled = []
        for i in range(points.size(0)):
            weights = torch.softmax(self.score(points[i]).squeeze(-1), dim=0)
            pooled.append(weights @ points[i])
        return self.head(torch.stack(pooled))


torch.manual_seed(0)
sets = torch.randn(2048, 12, 8)
labels = (sets[:, :, 0].amax(1) > 1.5).long() + (sets[:, :, 1].amax(1) > 1.5).long()
model = SetClassifier()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()

for step in range(180):
    index = torch.randint(0, 2048, (64,))
    optimizer.zero_grad()
    loss = criterion(model(sets[index]), labels[index])
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
