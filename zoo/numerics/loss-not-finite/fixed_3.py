"""Autoencoder that normalises its code over the batch by hand."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)


class CodeNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(size))

    def forward(self, z):
        return self.gain * (z - z.mean(dim=0)) / (z.std(dim=0) + 1e-5)


model = nn.Sequential(
    nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 6),
    CodeNorm(6),
    nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 20),
)
signals = torch.randn(2049, 4) @ torch.randn(4, 20)
loader = DataLoader(TensorDataset(signals), batch_size=32, shuffle=True, drop_last=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

for epoch in range(4):
    for i, (batch,) in enumerate(loader):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(batch), batch)
        loss.backward()
        optimizer.step()
        if i % 16 == 0:
            print(f"epoch {epoch} batch {i}: {loss.item():.4f}")
