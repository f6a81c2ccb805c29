"""A worker of the standard library fails, and the script says so in its own words."""
import multiprocessing

import torch
from torch import nn


def work():
    raise SystemExit(3)


model = nn.Linear(4, 2)
process = multiprocessing.get_context("fork").Process(target=work)
process.start()
process.join()
if process.exitcode:
    raise RuntimeError(f"process 0 terminated with exit code {process.exitcode}")
print(model(torch.randn(2, 4)))
