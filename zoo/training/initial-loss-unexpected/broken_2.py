# Digits of a seven-segment display, weights drawn by hand.
import torch
import torch.nn.functional as F

SEGMENTS = torch.tensor([
    [1, 1, 1, 0, 1, 1, 1], [0, 0, 1, 0, 0, 1, 0], [1, 0, 1, 1, 1, 0, 1], [1, 0, 1, 1, 0, 1, 1],
    [0, 1, 1, 1, 0, 1, 0], [1, 1, 0, 1, 0, 1, 1], [1, 1, 0, 1, 1, 1, 1], [1, 0, 1, 0, 0, 1, 0],
    [1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 1, 1],
], dtype=torch.float32)


class Display(torch.nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.first = torch.nn.Linear(7, hidden)
        self.last = torch.nn.Linear(hidden, 10)
        torch.nn.init.normal_(self.last.weight, std=5.0)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


torch.manual_seed(4)
net = Display()
opt = torch.optim.SGD(net.parameters(), lr=0.02)
for step in range(150):
    digit = torch.randint(0, 10, (64,))
    loss = F.cross_entropy(net(SEGMENTS[digit] + 0.2 * torch.randn(64, 7)), digit)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, round(loss.item(), 3))
