"""A recurrent net on long sequences, gradients clipped."""
import torch
from torch import nn

torch.manual_seed(10)


class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(2, 32, nonlinearity="relu", batch_first=True)
        self.out = nn.Linear(32, 1)
        nn.init.eye_(self.rnn.weight_hh_l0)
        with torch.no_grad():
            self.rnn.weight_hh_l0.mul_(1.02)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1]).squeeze(1)


model = Adder()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    v = torch.rand(64, 12)
    m = torch.zeros(64, 12)
    m[torch.arange(64), torch.randint(0, 6, (64,))] = 1
    m[torch.arange(64), torch.randint(6, 12, (64,))] = 1
    loss = nn.functional.mse_loss(model(torch.stack([v, m], -1)), (v * m).sum(1))
    opt.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
    opt.step()
    if step % 30 == 0:
        print(step, loss.item(), float(norm))
print("final", loss.item())
