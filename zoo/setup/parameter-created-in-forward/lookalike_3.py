"""A hypernetwork: the weights of the inner layer are computed anew for each pass, by a layer that is kept."""
import torch
from torch import nn
import torch.nn.functional as F


class Hyper(nn.Module):
    def __init__(self, inputs=5, hidden=16):
        super().__init__()
        self.inputs, self.hidden = inputs, hidden
        self.task = nn.Embedding(3, 8)
        self.weights = nn.Linear(8, inputs * hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x, task):
        weight = self.weights(self.task(task)).view(self.hidden, self.inputs)
        return self.out(torch.tanh(F.linear(x, weight)))


torch.manual_seed(4)
model = Hyper()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
rules = torch.randn(3, 5, 1)
for step in range(250):
    task = torch.randint(0, 3, ())
    x = torch.randn(64, 5)
    loss = F.mse_loss(model(x, task), torch.tanh(x @ rules[task]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
