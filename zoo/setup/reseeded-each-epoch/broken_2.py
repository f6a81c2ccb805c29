"""Denoise short waves; some reconstructions are looked at after each epoch."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Waves(Dataset):
    def __init__(self, count):
        self.phase = torch.rand(count) * 6.28

    def __len__(self):
        return len(self.phase)

    def __getitem__(self, index):
        clean = torch.sin(torch.linspace(0, 6, 24) + self.phase[index])
        return clean + 0.5 * torch.randn(24), clean


torch.manual_seed(9)
loader = DataLoader(Waves(320), batch_size=20, shuffle=True)
net = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 24))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)

for epoch in range(10):
    for noisy, clean in loader:
        loss = nn.functional.mse_loss(net(noisy), clean)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        torch.manual_seed(0)
        example = torch.sin(torch.linspace(0, 6, 24)) + 0.5 * torch.randn(24)
        restored = net(example)
    print(f"epoch {epoch}: loss {loss.item():.4f}, example spread {restored.std().item():.3f}")
