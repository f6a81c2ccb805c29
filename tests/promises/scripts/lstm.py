"""An LSTM whose hidden state is carried over, with the graph cut between steps."""

import torch
from fingerprint import STEPS, finish, start
from torch import nn


class Predictor(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 24, num_layers=2, dropout=0.3, batch_first=True)
        self.cell = nn.GRUCell(24, 24)
        self.head = nn.Linear(24, 6)

    def forward(self, x, state=None):
        hidden, state = self.lstm(x, state)
        last = hidden.new_zeros(x.shape[0], 24)
        for time in range(hidden.shape[1]):
            last = self.cell(hidden[:, time], last)
        return {"next": self.head(last), "state": state}


start()
model = Predictor()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
losses, state = [], None
for _ in range(STEPS):
    x = torch.randn(5, 7, 6)
    result = model(x, state=state)
    state = tuple(part.detach() for part in result["state"])
    loss = nn.functional.smooth_l1_loss(result["next"], x[:, -1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
finish([model], [optimizer], [result["next"], *state], losses)
