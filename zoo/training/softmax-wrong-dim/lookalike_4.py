# Sequence-first attention decoder: scores are (time, batch), softmax over dim 0 is over time.
import torch
import torch.nn.functional as F
from torch import nn


class Attend(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(8, 24)
        self.score = nn.Linear(24, 1)
        self.out = nn.Linear(24, 4)

    def forward(self, x):
        h, _ = self.rnn(x)
        w = torch.softmax(self.score(h).squeeze(-1), dim=0)
        return self.out(torch.einsum("tb,tbd->bd", w, h))


torch.manual_seed(0)
net = Attend()
opt = torch.optim.Adam(net.parameters(), 4e-3)
for step in range(130):
    y = torch.randint(0, 4, (32,))
    x = 0.5 * torch.randn(12, 32, 8)
    t = torch.randint(0, 12, (32,))
    x[t, torch.arange(32), y] += 3
    loss = F.nll_loss(net(x).log_softmax(1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        print(step, loss.item())
