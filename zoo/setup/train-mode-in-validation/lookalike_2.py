"""The averaged model gets batch norm statistics of its own by a pass over the training data."""
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
inputs = torch.randn(480, 12)
labels = (inputs[:, 0] * inputs[:, 1] > 0).long()
train_loader = DataLoader(TensorDataset(inputs[:400], labels[:400]), batch_size=40, shuffle=True)
val_loader = DataLoader(TensorDataset(inputs[400:], labels[400:]), batch_size=40)
model = nn.Sequential(nn.Linear(12, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 2))
averaged = AveragedModel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(8):
    model.train()
    for a, b in train_loader:
        loss = nn.functional.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    averaged.update_parameters(model)
    update_bn(train_loader, averaged)
    averaged.eval()
    with torch.no_grad():
        hits = sum((averaged(a).argmax(1) == b).sum().item() for a, b in val_loader)
    print(epoch, round(loss.item(), 4), hits / 80)
