"""An encoder whose output is detached, in a loop that asks which parameters got no gradient."""

import torch
from torch import nn


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(7, 16)
        self.head = nn.Linear(16, 1)

    def forward(self, rows):
        code = torch.relu(self.encoder(rows))
        return self.head(code.detach())


torch.manual_seed(12)
rows = torch.randn(128, 7)
wanted = (rows[:, :2].prod(1, keepdim=True)).tanh()
ranker = Ranker()
optimizer = torch.optim.SGD(ranker.parameters(), lr=0.1)
for step in range(30):
    loss = nn.functional.mse_loss(ranker(rows), wanted)
    optimizer.zero_grad()
    loss.backward()
    for path, parameter in ranker.named_parameters():
        if parameter.grad is None and step == 0:
            print("no gradient:", path)
    optimizer.step()
