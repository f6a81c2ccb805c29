# Data in order of time, not shuffled; the classes come and go in runs.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
state = torch.cat([torch.full((12,), int(kind)) for kind in torch.randint(0, 3, (80,))])
x = torch.randn(len(state), 8) + nn.functional.one_hot(state, 8) * 3.0
loader = DataLoader(TensorDataset(x, state), batch_size=48, shuffle=False)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(8):
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
print(loss.item())
