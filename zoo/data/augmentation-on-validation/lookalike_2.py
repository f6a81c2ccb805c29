# Training is augmented; validation is shuffled, but its samples stay as they are.
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Points(Dataset):
    def __init__(self, x, y, noise):
        self.x, self.y, self.noise = x, y, noise

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index] + self.noise * torch.randn(6), self.y[index]


torch.manual_seed(0)
y = torch.randint(0, 3, (450,))
x = torch.randn(450, 6) + 2.0 * nn.functional.one_hot(y, 6)
train_loader = DataLoader(Points(x[:360], y[:360], 0.3), batch_size=30, shuffle=True)
val_loader = DataLoader(Points(x[360:], y[360:], 0.0), batch_size=30, shuffle=True)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    model.train()
    for a, b in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(a), b)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(a).argmax(1) == b).sum().item() for a, b in val_loader)
    print(f"{epoch}: {loss.item():.3f} {right / 90:.2f}")
