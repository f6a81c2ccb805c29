"""A classifier ported from Keras, with a validation pass every epoch."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def block(inputs, outputs):
    return nn.Sequential(
        nn.Linear(inputs, outputs, bias=False),
        nn.BatchNorm1d(outputs, eps=1e-3),
        nn.ReLU(),
    )


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(block(20, 48), block(48, 48))
        self.head = nn.Linear(48, 4)

    def forward(self, x):
        return self.head(self.features(x))


torch.manual_seed(0)
prototypes = torch.randn(4, 20)
labels = torch.randint(0, 4, (640,))
points = prototypes[labels] + 1.3 * torch.randn(640, 20)
train = DataLoader(TensorDataset(points[:512], labels[:512]), batch_size=8, shuffle=True)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(5):
    model.train()
    for x, y in train:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        value = nn.functional.cross_entropy(model(points[512:]), labels[512:])
    print(f"epoch {epoch} loss {loss.item():.3f} validation {value:.3f}")
