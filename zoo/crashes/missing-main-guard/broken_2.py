# Learns a parity of bits; the start method is chosen once for the whole program.

import torch
import torch.multiprocessing as mp
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Bits(Dataset):
    def __init__(self, count):
        self.bits = torch.randint(0, 2, (count, 3), generator=torch.Generator().manual_seed(1)).float()

    def __len__(self):
        return len(self.bits)

    def __getitem__(self, index):
        return self.bits[index], self.bits[index].sum().long() % 2


def train():
    torch.manual_seed(0)
    loader = DataLoader(Bits(96), batch_size=24, num_workers=1)
    model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-2)
    for epoch in range(2):
        for bits, parity in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(bits), parity)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")


mp.set_start_method("spawn", force=True)
train()
