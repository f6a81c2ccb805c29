"""A trainer object that feeds a long series to a recurrent network, window by window."""
import torch
import torch.nn as nn


class Trainer:
    def __init__(self, width):
        self.rnn = nn.LSTM(1, width, batch_first=True)
        self.head = nn.Linear(width, 1)
        self.state = None
        self.optimizer = torch.optim.Adam([*self.rnn.parameters(), *self.head.parameters()], lr=1e-2)

    def train_window(self, x, y):
        out, self.state = self.rnn(x, self.state)
        loss = nn.functional.mse_loss(self.head(out), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.state = tuple(part.detach() for part in self.state)
        self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
series = torch.sin(torch.linspace(0, 150, 3001)).view(1, -1, 1)
trainer = Trainer(24)
for i, start in enumerate(range(0, 3000, 25)):
    value = trainer.train_window(series[:, start : start + 25], series[:, start + 1 : start + 26])
    if i % 20 == 0:
        print(f"window {i} loss {value:.4f}")
