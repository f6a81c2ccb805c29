"""House prices from ten features."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
houses = torch.randn(1200, 10)
price = 310_000 + 60_000 * houses[:, 0] + 35_000 * houses[:, 1] * houses[:, 2] + 8_000 * torch.randn(1200)

model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.MSELoss()
target = (price - price.mean()) / price.std()
loader = DataLoader(TensorDataset(houses, target), batch_size=60, shuffle=True)

for epoch in range(10):
    for x, y in loader:
        prediction = model(x).squeeze(1)
        loss = loss_fn(prediction, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4g}")
