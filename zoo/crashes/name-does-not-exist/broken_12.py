"""Training in a function, with the mean loss of each epoch."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
truth = torch.randn(6, 1)


def train_epoch(batches):
    for _ in range(batches):
        x = torch.randn(32, 6)
        loss = nn.functional.mse_loss(model(x), x @ truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    return epoch_loss / batches


for epoch in range(4):
    print(epoch, train_epoch(20))
