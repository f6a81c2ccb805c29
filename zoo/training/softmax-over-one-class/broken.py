"""Will a customer cancel? One output, trained with cross-entropy."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
features = torch.randn(800, 10)
cancels = ((features[:, 0] - features[:, 3] * features[:, 4]) > 0).float().unsqueeze(1)
loader = DataLoader(TensorDataset(features, cancels), batch_size=50, shuffle=True)

model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(8):
    for x, y in loader:
        pred = model(x)
        loss = loss_fn(pred, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
