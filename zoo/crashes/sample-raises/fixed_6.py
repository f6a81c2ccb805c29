# Embeds recordings and keeps the file of each, to report the worst ones later.
from pathlib import Path

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(6)


class Recordings(Dataset):
    def __init__(self, count):
        self.files = [Path("recordings") / f"take_{number}.wav" for number in range(count)]
        self.loud = torch.randint(0, 2, (count,))
        self.sound = torch.randn(count, 24) * (1 + self.loud[:, None])

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return {"sound": self.sound[index], "loud": self.loud[index], "file": str(self.files[index])}


loader = DataLoader(Recordings(160), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(8):
    for batch in loader:
        optimizer.zero_grad()
        losses = nn.functional.cross_entropy(model(batch["sound"]), batch["loud"], reduction="none")
        losses.mean().backward()
        optimizer.step()
    print(f"epoch {epoch} loss {losses.mean().item():.4f} worst {batch['file'][losses.argmax()]}")
