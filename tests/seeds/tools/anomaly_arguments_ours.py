"""The same arguments where they exist: an Inf is found, and where it came from."""

import torch

import torch_debugger


def odds(chance):
    return chance / (1 - chance)


torch.manual_seed(15)
weight = torch.tensor([0.2, 0.7, 1.0], requires_grad=True)
try:
    with torch_debugger.detect_anomaly(check_nan=True, check_inf=True, stacklevel=3):
        odds(weight).sum().backward()
except torch_debugger.AnomalyError as error:
    print(error)
with torch_debugger.detect_anomaly(check_inf=False):
    odds(weight).sum().backward()
print("an Inf alone passes if it is not asked for")
