# Windows of a sensor signal, cut into a buffer that is made once.
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, count, length=24):
        self.speed = torch.randint(1, 5, (count,))
        self.time = torch.linspace(0, 3, length)
        self.window = torch.empty(length)

    def __len__(self):
        return len(self.speed)

    def __getitem__(self, index):
        phase = torch.rand(1) * 6
        torch.sin(self.time * self.speed[index] + phase, out=self.window)
        return self.window.clone(), int(self.speed[index]) - 1


torch.manual_seed(0)
loader = DataLoader(Windows(600), batch_size=30, shuffle=True)
model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(5):
    for window, speed in loader:
        optimizer.zero_grad()
        loss = criterion(model(window), speed)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
