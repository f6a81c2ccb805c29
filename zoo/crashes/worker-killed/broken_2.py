# Reads sensor frames from packed buffers through a small C-style view, with two workers.
import ctypes

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
WIDTH = 16


class Frames(Dataset):
    def __init__(self, frames, active):
        self.frames = frames
        self.active = active
        self.addresses = [frame.data_ptr() for frame in frames]
        self.addresses[90] = 8

    def __len__(self):
        return len(self.frames)

    def __getitem__(self, index):
        raw = ctypes.string_at(self.addresses[index], WIDTH * 4)
        return torch.frombuffer(bytearray(raw), dtype=torch.float32), self.active[index]


active = torch.randint(0, 2, (160,))
frames = list(torch.randn(160, WIDTH) + active[:, None])
loader = DataLoader(Frames(frames, active), batch_size=16, num_workers=2)
model = nn.Linear(WIDTH, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
for epoch in range(4):
    for frame, label in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(frame), label)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
