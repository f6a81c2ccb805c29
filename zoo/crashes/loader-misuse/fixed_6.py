# Each sample is a dict; the loop takes its two entries.
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
device = torch.device("cpu")


class Pairs(Dataset):
    def __init__(self, count):
        self.x = torch.randn(count, 6)
        self.y = self.x.sum(dim=1, keepdim=True)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return {"features": self.x[index], "target": self.y[index]}


loader = DataLoader(Pairs(256), batch_size=32, shuffle=True)
model = nn.Linear(6, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(4):
    for batch in loader:
        features, target = batch["features"].to(device), batch["target"].to(device)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(features), target)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
