"""Tell tones apart by their spectrum."""
import torch
from torch import nn


class ToneNet(nn.Module):
    def __init__(self, samples=64, tones=4):
        super().__init__()
        self.head = nn.Sequential(nn.Linear(samples // 2 + 1, 32), nn.ReLU(), nn.Linear(32, tones))

    def forward(self, wave):
        spectrum = torch.fft.rfft(wave, norm="ortho")
        return self.head(spectrum)


torch.manual_seed(8)
pitch = torch.tensor([3.0, 6.0, 9.0, 12.0])
model = ToneNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(80):
    labels = torch.randint(0, 4, (32,))
    t = torch.arange(64) / 64 * 6.283
    wave = torch.sin(pitch[labels][:, None] * t + 6.283 * torch.rand(32, 1)) + 0.5 * torch.randn(32, 64)
    loss = nn.functional.cross_entropy(model(wave), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}")
