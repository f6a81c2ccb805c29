"""Elman network that adds up marked numbers; long sequences make large gradients now and then."""
import torch
from torch import nn

torch.manual_seed(0)


class Adder(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.rnn = nn.RNN(2, hidden, nonlinearity="relu", batch_first=True)
        self.out = nn.Linear(hidden, 1)
        nn.init.eye_(self.rnn.weight_hh_l0)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1]).squeeze(1)


def sample(batch=32, length=30):
    values = torch.rand(batch, length)
    marks = torch.zeros(batch, length)
    marks[:, 3] = marks[:, length // 2] = 1
    return torch.stack([values, marks], 2), (values * marks).sum(1)


model = Adder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.03)
for step in range(150):
    x, y = sample()
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.5)
    if step % 30 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
