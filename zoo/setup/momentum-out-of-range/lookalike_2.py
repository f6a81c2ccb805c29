"""Large momentum with a rate to match, and betas closer together than usual."""
import torch
from torch import nn

torch.manual_seed(5)
inputs = torch.randn(300, 6)
target = inputs[:, 0] - 0.5 * inputs[:, 1] ** 2
first = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
second = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
sgd = torch.optim.SGD(first.parameters(), lr=1e-3, momentum=0.99, nesterov=True)
adam = torch.optim.AdamW(second.parameters(), lr=3e-3, betas=(0.9, 0.9))
for epoch in range(200):
    for net, opt in ((first, sgd), (second, adam)):
        loss = nn.functional.mse_loss(net(inputs).squeeze(1), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 50 == 0:
        print(epoch, round(loss.item(), 4))
