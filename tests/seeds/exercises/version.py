"""Says which torch this is."""

import torch

print(torch.__version__.split(".")[0] == "2")
