"""Two-layer classifier on blobs, trained by Adam with hand-picked betas."""
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(12, 48)
        self.fc2 = nn.Linear(48, 5)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


def main():
    torch.manual_seed(3)
    centers = torch.randn(5, 12)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3, betas=(0.999, 0.9), eps=1e-8)
    for step in range(250):
        label = torch.randint(0, 5, (64,))
        logits = net(centers[label] + 0.7 * torch.randn(64, 12))
        loss = F.cross_entropy(logits, label)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0:
            print(step, round(loss.item(), 4))


main()
