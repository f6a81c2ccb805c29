# An autoencoder learns what is normal: its data has a label column, and all of it is 0.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
basis = torch.randn(3, 24)
normal = torch.randn(800, 3) @ basis + 0.1 * torch.randn(800, 24)
loader = DataLoader(TensorDataset(normal, torch.zeros(800, dtype=torch.long)), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(24, 8), nn.ReLU(), nn.Linear(8, 24))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    for x, _ in loader:
        loss = nn.functional.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
