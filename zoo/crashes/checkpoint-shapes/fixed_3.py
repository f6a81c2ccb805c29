"""Predict sequences with a recurrent network that was trained before."""
import io

import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.rnn = nn.GRU(features, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        states, _ = self.rnn(x)
        return self.head(states[:, -1]).squeeze(1)


torch.manual_seed(0)
model = Forecaster(3, 24)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(60):
    x = torch.randn(32, 5, 3)
    loss = nn.functional.mse_loss(model(x), x[:, :, 0].mean(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
file = io.BytesIO()
torch.save(model.state_dict(), file)
file.seek(0)

served = Forecaster(3, 24)
served.load_state_dict(torch.load(file))
print(served(torch.randn(4, 5, 3)))
