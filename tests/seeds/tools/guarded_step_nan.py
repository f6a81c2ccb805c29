"""A step with everything around it, and inputs that hold a NaN."""

import torch
from torch import nn

torch.manual_seed(14)
net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
inputs, targets = torch.randn(20, 6), torch.randint(0, 3, (20,))
inputs[4, 1] = float("nan")
try:
    for _ in range(8):
        optimizer.zero_grad()
        loss = criterion(net(inputs), targets)
        assert not torch.isnan(loss).any(), "the loss is NaN"
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
except RuntimeError as error:
    if "out of memory" in str(error):
        print("memory: take a smaller batch")
    elif "shape" in str(error):
        print("shapes:", tuple(inputs.shape))
    raise
print("done")
