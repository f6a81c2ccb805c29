"""A recurrent cell that keeps its hidden state between chunks of one long sequence."""
import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 16)
        self.out = nn.Linear(16, 1)
        self.state = torch.zeros(8, 16)
        self.running_loss = torch.zeros(())

    def forward(self, x):
        self.state = self.cell(x, self.state.detach())
        return self.out(self.state)

    def note(self, loss):
        self.running_loss = 0.9 * self.running_loss + 0.1 * loss.detach()


torch.manual_seed(2)
reader = Reader()
optimizer = torch.optim.Adam(reader.parameters(), lr=5e-3)
for step in range(200):
    x = torch.randn(8, 3)
    loss = nn.functional.mse_loss(reader(x), x.sum(dim=1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    reader.note(loss)
print(reader.running_loss.item(), len(reader.state_dict()))
