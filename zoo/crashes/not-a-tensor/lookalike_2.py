"""A recurrent layer whose two results are both used."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(3, 16, batch_first=True)
        self.fc = nn.Linear(32, 1)

    def forward(self, x):
        both = self.gru(x)
        return self.fc(torch.cat([both[0][:, -1], both[1][0]], dim=1))


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
for _ in range(60):
    x = torch.randn(32, 4, 3)
    loss = nn.functional.mse_loss(net(x), x[:, :, 0].sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
