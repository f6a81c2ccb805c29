import argparse
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class SmallConvNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc = nn.Linear(24 * 3 * 3, 48)
        self.out = nn.Linear(48, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc(x.flatten(1)))
        return self.out(x)


def render(n, n_classes, protos, rng):
    y = rng.randint(0, n_classes, n)
    x = protos[y] + 0.7 * rng.randn(n, 1, 12, 12)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def run_epochs(model, optimizer, x, y, epochs, bs, tag):
    for ep in range(epochs):
        model.train()
        perm = torch.randperm(len(x))
        total = 0.0
        for k in range(0, len(x), bs):
            b = perm[k:k + bs]
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[b]), y[b])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(b)
        print(f"{tag} epoch {ep + 1}: loss {total / len(x):.4f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--ft-lr", type=float, default=1e-4)
    ap.add_argument("--head-lr", type=float, default=3e-3)
    ap.add_argument("--bs", type=int, default=32)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    rng = np.random.RandomState(args.seed)
    src_protos = rng.randn(10, 1, 12, 12)
    mix = rng.randn(16, 10) * 0.7
    tgt_protos = (mix @ src_protos.reshape(10, -1)).reshape(16, 1, 12, 12)

    model = SmallConvNet(10)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    xs, ys = render(1280, 10, src_protos, rng)
    run_epochs(model, opt, xs, ys, 2, args.bs, "source")

    model = copy.deepcopy(model)
    groups = [
        {"params": list(model.conv1.parameters()) + list(model.conv2.parameters()) + list(model.fc.parameters()),
         "lr": args.ft_lr},
        {"params": model.out.parameters(), "lr": args.head_lr},
    ]
    opt = torch.optim.Adam(groups)
    model.out = nn.Linear(model.out.in_features, 16)

    xt, yt = render(1280, 16, tgt_protos, rng)
    xv, yv = render(600, 16, tgt_protos, rng)
    run_epochs(model, opt, xt, yt, 5, args.bs, "target")
    print(f"target test accuracy: {accuracy(model, xv, yv):.3f}")


if __name__ == "__main__":
    main()
