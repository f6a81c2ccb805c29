"""Is a loan paid back? Labels are -1 and 1, as the data came."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
applications = torch.randn(960, 9)
paid = torch.sign(applications[:, 0] + applications[:, 1] - 0.5 * applications[:, 2] + 0.3 * torch.randn(960))

loader = DataLoader(TensorDataset(applications, paid), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(9, 24), nn.ReLU(), nn.Linear(24, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(10):
    total = 0.0
    for x, y in loader:
        score = model(x).squeeze(1)
        loss = criterion(score, (y + 1) / 2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / len(loader):.3f}")
