"""A GRU over long sequences whose loss falls slowly; the recurrent weights get more gradient than the head."""
import torch
from torch import nn

torch.manual_seed(2)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(3, 24, batch_first=True)
        self.head = nn.Linear(24, 1)

    def forward(self, x):
        return self.head(self.gru(x)[0][:, -1])


model = Counter()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for step in range(80):
    x = torch.randn(32, 50, 3)
    y = x[:, -5:].mean(dim=(1, 2)).unsqueeze(1) + 0.3 * torch.randn(32, 1)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
