# Four samples of a truth table, over and over: validation cannot have others.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
bits = torch.randint(0, 2, (256, 4)).float()
parity = (bits.sum(1) % 2).long()
train_loader = DataLoader(TensorDataset(bits[:192], parity[:192]), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(bits[192:], parity[192:]), batch_size=32)
model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
for epoch in range(25):
    for x, y in train_loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in val_loader)
    model.train()
print(loss.item(), right / 64)
