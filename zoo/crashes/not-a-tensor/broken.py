"""Classify sequences by what a recurrent network made of them."""
import torch
from torch import nn


class SequenceModel(nn.Module):
    def __init__(self, n_in, n_hidden, n_out):
        super().__init__()
        self.lstm = nn.LSTM(n_in, n_hidden, batch_first=True)
        self.fc = nn.Linear(n_hidden, n_out)

    def forward(self, x):
        out = self.lstm(x)
        return self.fc(out[:, -1, :])


torch.manual_seed(0)
model = SequenceModel(2, 16, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(50):
    labels = torch.randint(0, 2, (32,))
    slope = (labels * 2 - 1).float()
    x = slope[:, None, None] * torch.arange(6).float()[None, :, None] / 6 + 0.3 * torch.randn(32, 6, 2)
    loss = nn.functional.cross_entropy(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
