"""A compiled network that refuses inputs it cannot take."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        if x.shape[1] != 16:
            raise ValueError(f"16 features are needed, not {x.shape[1]}")
        return self.fc(x)


model = torch.compile(Net(), backend="eager", fullgraph=True)
print(model(torch.randn(4, 12)).shape)
