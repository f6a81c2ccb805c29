"""Classifier on a small noisy set; keeps the weights of the best validation epoch and reports on the test set."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
D = 16
w_true = torch.randn(D)


def draw(n):
    x = torch.randn(n, D)
    y = (x @ w_true > 0).long()
    flip = torch.rand(n) < 0.22
    return x, torch.where(flip, 1 - y, y)


splits = {"train": draw(300), "val": draw(1500), "test": draw(3000)}


def evaluate(net, split):
    net.eval()
    x, y = splits[split]
    with torch.no_grad():
        out = net(x)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


class EarlyStopper:
    def __init__(self):
        self.best = float("inf")
        self.weights = None
        self.epoch = -1

    def update(self, value, net, epoch):
        if value < self.best:
            self.best = value
            self.weights = net.state_dict()
            self.epoch = epoch

    def restore(self, net):
        net.load_state_dict(self.weights)


net = nn.Sequential(nn.Linear(D, 96), nn.ReLU(), nn.Linear(96, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
keeper = EarlyStopper()
x, y = splits["train"]
for epoch in range(40):
    net.train()
    tot = 0.0
    for idx in torch.randperm(len(x)).split(20):
        opt.zero_grad()
        loss = F.cross_entropy(net(x[idx]), y[idx])
        loss.backward()
        opt.step()
        tot += loss.item()
    vl, va = evaluate(net, "val")
    keeper.update(vl, net, epoch)
    if epoch % 6 == 0:
        print(f"epoch {epoch:2d} train {tot / 15:.4f} val {vl:.4f} acc {va:.3f}")

keeper.restore(net)
tl, ta = evaluate(net, "test")
print(f"best epoch {keeper.epoch} (val {keeper.best:.4f}); restored weights: test loss {tl:.4f} acc {ta:.3f}")
