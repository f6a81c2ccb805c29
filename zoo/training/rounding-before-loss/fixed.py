"""Will it rain tomorrow? A binary classifier trained on its yes-or-no answers."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
weather = torch.randn(800, 8)
rain = ((weather[:, 0] + weather[:, 1] * weather[:, 2]) > 0).float()
loader = DataLoader(TensorDataset(weather, rain), batch_size=40, shuffle=True)


class Rain(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())

    def forward(self, x):
        return self.layers(x).squeeze(1)


model = Rain()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(10):
    total = 0.0
    for x, y in loader:
        answer = model(x)
        loss = criterion(answer, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / len(loader):.4f}")
