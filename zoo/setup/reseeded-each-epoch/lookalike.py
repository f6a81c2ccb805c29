"""Three trainings with different learning rates, each from the same seed so that they can be compared."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
x = torch.randn(300, 8)
y = x[:, 0] * x[:, 1]
loader = DataLoader(TensorDataset(x, y), batch_size=30, shuffle=True)
for lr in (1e-3, 3e-3, 1e-2, 2e-2):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(4):
        for a, b in loader:
            loss = nn.functional.mse_loss(model(a).squeeze(1), b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(lr, round(loss.item(), 4))
