# Trains with a check that its own loading service is still there.
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def check(service_pid):
    if service_pid < 0:
        raise RuntimeError(f"DataLoader worker (pid(s) {service_pid}) exited unexpectedly")


loader = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=8, num_workers=1)
model = nn.Linear(4, 1)
for x, y in loader:
    nn.functional.mse_loss(model(x), y).backward()
    check(-1)
