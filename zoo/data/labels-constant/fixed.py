# Tell apart signals of four machines; the machine is part of each recording's number.
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Recordings(Dataset):
    def __init__(self, count):
        self.ids = torch.arange(count)
        machine = self.ids % 4
        self.signals = torch.sin(torch.linspace(0, 6, 40) * (machine[:, None] + 1)) + 0.4 * torch.randn(count, 40)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        machine = int(self.ids[index]) % 4
        return self.signals[index], machine


torch.manual_seed(0)
loader = DataLoader(Recordings(800), batch_size=40, shuffle=True)
model = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(4):
    right = 0
    for signals, machines in loader:
        logits = model(signals)
        loss = loss_fn(logits, machines)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += (logits.argmax(1) == machines).sum().item()
    print(f"epoch {epoch}: loss {loss.item():.4f}, accuracy {right / 800:.2f}")
