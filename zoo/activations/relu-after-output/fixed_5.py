# Predict the next value of a series, above or below zero, from the last ten; the layers come from a list of sizes.
import torch
import torch.nn as nn

torch.manual_seed(2)
series = torch.cumsum(torch.randn(3000) * 0.3, 0).sin() + 0.05 * torch.randn(3000)


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        for a, b in [(10, 32), (32, 32), (32, 1)]:
            layers += [nn.Linear(a, b), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, x):
        return self.layers(x).squeeze(-1)


net = Forecaster()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(300):
    i = torch.randint(0, 2980, (64,))
    window = torch.stack([series[k : k + 10] for k in i])
    loss = (net(window) - series[i + 10]).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0:
        print(step, loss.item())
