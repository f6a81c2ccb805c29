# Which of eight instruments play in a clip? Multi-label tagging over spectra.
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def make_clips(n=768, instruments=8, bins=48):
    g = torch.Generator().manual_seed(7)
    timbre = torch.rand(instruments, bins, generator=g) ** 3
    playing = (torch.rand(n, instruments, generator=g) < 0.3).float()
    spectrum = playing @ timbre + 0.05 * torch.randn(n, bins, generator=g)
    return TensorDataset(spectrum, playing)


class Trainer:
    def __init__(self):
        torch.manual_seed(7)
        self.net = nn.Sequential(
            nn.Linear(48, 96),
            nn.GELU(),
            nn.Linear(96, 8),
        )
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=4e-3)
        self.data = DataLoader(make_clips(), batch_size=64, shuffle=True)

    def train(self, epochs):
        for epoch in range(epochs):
            total = 0.0
            for spectrum, playing in self.data:
                self.opt.zero_grad()
                out = self.net(spectrum)
                loss = F.binary_cross_entropy_with_logits(out, playing)
                loss.backward()
                self.opt.step()
                total += loss.item()
            print("epoch", epoch, "bce", round(total / len(self.data), 4))


Trainer().train(14)
