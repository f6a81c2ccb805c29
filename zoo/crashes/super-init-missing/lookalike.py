"""A counter in the base class of two models; the attribute is asked for before it is made."""
import torch
from torch import nn


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        self.calls = self.calls + 1
        return self.fc(x)


torch.manual_seed(0)
model = Counting()
out = model(torch.randn(8, 4))
print(out.shape)
