"""House prices from nine standardised columns, written as one Sequential."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
columns = torch.randn(900, 9)
prices = 0.8 * columns[:, 0] - 0.5 * columns[:, 3] + 0.4 * columns[:, 1] * columns[:, 2]
prices = ((prices - prices.mean()) / prices.std()).unsqueeze(1)

model = nn.Sequential(
    nn.Linear(9, 64),
    nn.ReLU(),
    nn.Linear(64, 32),
    nn.ReLU(),
    nn.Linear(32, 1),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
loader = DataLoader(TensorDataset(columns, prices), batch_size=30, shuffle=True)
for epoch in range(5):
    total = 0.0
    for x, y in loader:
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(loader):.4f}")
