"""An autoencoder with a code of four numbers."""
import torch
import torch.nn as nn


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 4))
        self.decoder = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 16))

    def forward(self, x):
        code = self.encoder(x)
        restored = self.decoder(code)
        return restored


torch.manual_seed(0)
basis = torch.randn(4, 16)
model = AutoEncoder()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.MSELoss()
for step in range(200):
    x = torch.randn(64, 4) @ basis
    restored = model(x)
    loss = criterion(restored, x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(f"step {step} loss {loss.item():.3f}")
