"""One batch, in a loop that never clears its gradients."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(49)
batches = DataLoader(TensorDataset(torch.randn(60, 9), torch.randint(0, 4, (60,))), batch_size=12)
net = nn.Sequential(nn.Linear(9, 48), nn.ReLU(), nn.Linear(48, 4))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
inputs, labels = next(iter(batches))
for round_number in range(100):
    loss = criterion(net(inputs), labels)
    loss.backward()
    optimizer.step()
    if round_number % 20 == 0:
        print(f"round {round_number}: {loss.item():.3f}")
