# Predict the temperature of the next hour (in degrees) from the last twelve.
import torch
import torch.nn.functional as F


class Forecast(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.GRU(1, 24, batch_first=True)
        self.out = torch.nn.Linear(24, 1)

    def forward(self, series):
        _, last = self.rnn(series)
        return torch.tanh(self.out(last[0]))


def weather(n):
    start, drift = 4 * torch.randn(n, 1), 0.4 * torch.randn(n, 1)
    hours = torch.arange(13.0)
    return start + drift * hours + 0.2 * torch.randn(n, 13)


torch.manual_seed(9)
net = Forecast()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(100):
    w = weather(64)
    guess = net(w[:, :12].unsqueeze(2))
    loss = F.smooth_l1_loss(guess, w[:, 12:])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, round(loss.item(), 4))
