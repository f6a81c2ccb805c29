# Reads measurements saved as arrays and learns to tell two machines apart.
import io

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(1)
rng = np.random.default_rng(1)


def store(values):
    buffer = io.BytesIO()
    np.save(buffer, values)
    return buffer.getvalue()


class Measurements(Dataset):
    def __init__(self, blobs, machines):
        self.blobs = blobs
        self.machines = machines

    def __len__(self):
        return len(self.blobs)

    def __getitem__(self, index):
        try:
            values = np.load(io.BytesIO(self.blobs[index]))
        except ValueError:
            return None
        return torch.from_numpy(values), self.machines[index]


machines = rng.integers(0, 2, 200)
blobs = [store(rng.normal(machine, 1.0, 16).astype(np.float32)) for machine in machines]
blobs[77] = blobs[77][:70]

loader = DataLoader(Measurements(blobs, machines), batch_size=20, shuffle=True, num_workers=1)
model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(5):
    for values, machine in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(values), machine)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
