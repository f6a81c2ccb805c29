"""Which of six tokens is hidden among others? A transformer with three layers."""
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.emb = nn.Embedding(30, d)
        layer = nn.TransformerEncoderLayer(d, 4, 96, dropout=0.0, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.head = nn.Linear(d, 6)

    def forward(self, t):
        return self.head(self.enc(self.emb(t))[:, 0])


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=0.05)
for step in range(200):
    y = torch.randint(0, 6, (32,))
    t = torch.randint(6, 30, (32, 12))
    t[torch.arange(32), torch.randint(1, 12, (32,))] = y
    loss = F.cross_entropy(net(t), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        print(step, loss.item())
