"""Convolutional autoencoder with a short code."""
import torch
from torch import nn


class AutoEncoder(nn.Module):
    def __init__(self, code_size):
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 4 * 4, code_size)
        )
        super().__init__()
        self.decoder = nn.Sequential(nn.Linear(code_size, 64), nn.ReLU(), nn.Linear(64, 64))

    def forward(self, x):
        return self.decoder(self.encoder(x)).view(-1, 1, 8, 8)


torch.manual_seed(0)
basis = torch.randn(3, 64)
images = (torch.rand(128, 3) @ basis).view(-1, 1, 8, 8)
model = AutoEncoder(4)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(80):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(images), images)
    loss.backward()
    optimizer.step()
print(loss.item())
