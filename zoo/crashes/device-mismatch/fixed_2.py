"""Checks the shapes of a regression training step on the meta device before a long job is queued."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("meta")
data = TensorDataset(torch.randn(256, 12), torch.randn(256, 1))
loader = DataLoader(data, batch_size=32)

model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
criterion = nn.MSELoss()


def step(inputs, targets):
    inputs = inputs.to(device)
    predictions = model(inputs)
    loss = criterion(predictions, targets)
    return predictions, loss


for inputs, targets in loader:
    predictions, loss = step(inputs, targets.to(device))
    print("batch", tuple(inputs.shape), "->", tuple(predictions.shape), "loss", tuple(loss.shape))
