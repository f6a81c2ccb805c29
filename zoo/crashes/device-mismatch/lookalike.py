"""A loader that refuses batches from another machine."""
import torch
import torch.nn as nn

device = torch.device("cpu")
model = nn.Linear(6, 2).to(device)


def check(batch, home):
    if batch["home"] != home:
        raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu")
    return batch["x"].to(home)


for name in ("cpu", "cuda:0"):
    batch = {"x": torch.randn(4, 6), "home": torch.device(name)}
    print(tuple(model(check(batch, device)).shape))
