"""Classifies points into five classes; some of the labels come from an older list of six."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
centres = 3 * torch.randn(6, 12)
labels = torch.randint(0, 6, (1200,))
points = centres[labels] + torch.randn(1200, 12)
loader = DataLoader(TensorDataset(points, labels), batch_size=100)

net = nn.Sequential(
    nn.Linear(12, 32),
    nn.ReLU(),
    nn.Linear(32, 6),
).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(5):
    for x, y in loader:
        loss = criterion(net(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, round(loss.item(), 4))
