"""Digits by a small convolutional net, trained on the GPU."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("cuda")
data = TensorDataset(torch.randn(256, 1, 28, 28), torch.randint(0, 10, (256,)))
loader = DataLoader(data, batch_size=32)
net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 26 * 26, 10)).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for images, labels in loader:
    labels = labels.to(device)
    loss = criterion(net(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
