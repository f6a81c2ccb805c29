"""A small autoencoder whose batches go to the device that there is."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Autoencoder(nn.Module):
    def __init__(self, size, code):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(size, 32), nn.ReLU(), nn.Linear(32, code))
        self.decoder = nn.Sequential(nn.Linear(code, 32), nn.ReLU(), nn.Linear(32, size))

    def forward(self, x):
        return self.decoder(self.encoder(x))


torch.manual_seed(0)
basis = torch.randn(3, 20)
loader = DataLoader(TensorDataset(torch.randn(640, 3) @ basis), batch_size=32, shuffle=True)
model = Autoencoder(20, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(6):
    for (x,) in loader:
        x = x.to(DEVICE)
        loss = nn.functional.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{epoch} {loss.item():.4f}")

with torch.no_grad():
    code = torch.randn(4, 3).to(DEVICE)
    print(model.decoder(code).std().item())
