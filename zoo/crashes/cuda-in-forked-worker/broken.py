"""Noisy sines, joined to batches by a collate function."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Sines(Dataset):
    def __init__(self, n):
        generator = torch.Generator().manual_seed(0)
        self.phase = torch.rand(n, generator=generator) * 6
        self.time = torch.linspace(0, 6, 50)

    def __len__(self):
        return len(self.phase)

    def __getitem__(self, index):
        return torch.sin(self.time + self.phase[index]), self.phase[index]


def collate(samples):
    waves = torch.stack([wave for wave, _ in samples]).to(device)
    phases = torch.stack([phase for _, phase in samples]).to(device)
    return waves, phases


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(50, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
loader = DataLoader(Sines(512), batch_size=64, num_workers=2, collate_fn=collate)
for epoch in range(4):
    for waves, phases in loader:
        loss = (net(waves).squeeze(1) - phases).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, round(loss.item(), 3))
