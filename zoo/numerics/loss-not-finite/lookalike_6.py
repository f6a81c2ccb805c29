"""Regression on a table with missing cells: impute and add an indicator."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Imputer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fill = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        gone = torch.isnan(x)
        return torch.cat([torch.where(gone, self.fill, torch.nan_to_num(x)), gone.float()], dim=1)


torch.manual_seed(2)
full = torch.randn(600, 6)
y = full @ torch.arange(1.0, 7.0)
x = full.masked_fill(torch.rand(600, 6) < 0.1, float("nan"))
model = nn.Sequential(Imputer(6), nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(12):
    total = 0.0
    for xb, yb in DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True):
        loss = nn.functional.mse_loss(model(xb).squeeze(1), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / 12
    if epoch % 3 == 0:
        print(f"epoch {epoch} {total:.3f}")
print("final", total)
