"""Learn to restore the spectra of stars from a few numbers; the loss gets the weight it has in a larger sum."""
import torch
from torch import nn

WEIGHT = 1e-4


class Spectra(nn.Module):
    def __init__(self, inputs=8, width=48, channels=512):
        super().__init__()
        self.first = nn.Linear(inputs, width)
        self.second = nn.Linear(width, width)
        self.last = nn.Linear(width, channels)

    def forward(self, x):
        x = torch.relu(self.first(x))
        return self.last(torch.relu(self.second(x)))


torch.manual_seed(0)
model = Spectra()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, eps=1e-12)
scaler = torch.amp.GradScaler("cpu")
lines = torch.randn(8, 512) / 3

for step in range(1, 101):
    x = torch.randn(64, 8)
    spectrum = torch.tanh(x) @ lines
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = WEIGHT * nn.functional.mse_loss(model(x), spectrum)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    if step % 20 == 0:
        print(f"step {step}: error {loss.item() / WEIGHT:.4f}")
