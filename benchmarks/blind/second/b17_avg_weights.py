import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(77)


class WeightAverager:
    def __init__(self, model, decay=0.97):
        self.decay = decay
        self.shadow = copy.deepcopy(model)
        for p in self.shadow.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s = self.decay * s + (1 - self.decay) * p
        for s, b in zip(self.shadow.buffers(), model.buffers()):
            s.copy_(b)


def spiral(n, noise=0.25):
    y = torch.randint(0, 3, (n,))
    r = torch.rand(n) * 2.5 + 0.3
    th = 2.0 * r + y.float() * 2 * torch.pi / 3
    x = torch.stack([r * th.cos(), r * th.sin()], 1) + noise * torch.randn(n, 2) * 0.4
    return x, y


def accuracy(net, data):
    net.eval()
    with torch.no_grad():
        return (net(data[0]).argmax(1) == data[1]).float().mean().item()


def build():
    return nn.Sequential(nn.Linear(2, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(),
                         nn.Linear(64, 3))


def train(steps=360, bs=64):
    net = build()
    avg = WeightAverager(net)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    data, test = spiral(2400), spiral(1200)
    for step in range(steps):
        net.train()
        i = torch.randint(0, len(data[0]), (bs,))
        loss = F.cross_entropy(net(data[0][i]), data[1][i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        avg.update(net)
        if step % 60 == 59:
            print(f"step {step + 1} loss {loss.item():.3f}")
    print(f"final test accuracy (averaged weights): {accuracy(avg.shadow, test):.3f}")
    return avg.shadow


if __name__ == "__main__":
    train()
