"""The second half of the model goes to another GPU."""
import torch
import torch.nn as nn

first = nn.Linear(10, 10).to("cuda:0")
second = nn.Linear(10, 2).to("cuda:7")
x = torch.randn(4, 10, device="cuda:0")
print(second(first(x).to("cuda:7")))
