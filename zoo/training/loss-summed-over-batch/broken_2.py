# Linear model of five sensors, loss by hand, momentum.
import torch

torch.manual_seed(4)
truth = torch.tensor([[1.5], [-2.0], [0.7], [0.0], [3.0]])


class Sensors(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(5, 1)

    def forward(self, x):
        return self.line(x)


net = Sensors()
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
for i in range(60):
    x = torch.randn(200, 5)
    y = x @ truth + 0.1 * torch.randn(200, 1)
    loss = ((net(x) - y) ** 2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 10 == 0:
        print(i, loss.item())
