# Classifies spectra; each sample also says which instrument it came from.
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Spectra(Dataset):
    def __init__(self, count):
        self.kinds = torch.randint(0, 3, (count,))
        self.values = torch.randn(count, 20)
        self.values[torch.arange(count), self.kinds * 5] += 3

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, index):
        return self.values[index], self.kinds[index], f"instrument-{index % 4}"


loader = DataLoader(Spectra(300), batch_size=30, shuffle=True)
model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(6):
    for values, kind, _ in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(values), kind)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
