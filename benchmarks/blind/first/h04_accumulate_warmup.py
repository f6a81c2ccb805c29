import argparse
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class ResBlock(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.GroupNorm(4, d), nn.Linear(d, d), nn.SiLU(), nn.Linear(d, d))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        return x + self.net(x)


def data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 4, generator=g) * 2 - 1
    y = torch.sin(3 * x[:, 0]) * x[:, 1] + x[:, 2].abs() - 0.5 + 0.05 * torch.randn(n, generator=g)
    return x, y.unsqueeze(1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--micro", type=int, default=4)
    ap.add_argument("--accum", type=int, default=8)
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--warmup", type=int, default=15)
    args = ap.parse_args()
    torch.manual_seed(0)

    loader = DataLoader(TensorDataset(*data(1024, 0)), batch_size=args.micro, shuffle=True)
    x_val, y_val = data(300, 1)
    model = nn.Sequential(nn.Linear(4, 48), ResBlock(48), ResBlock(48), nn.Linear(48, 1))
    decay = [p for p in model.parameters() if p.dim() > 1]
    no_decay = [p for p in model.parameters() if p.dim() <= 1]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": no_decay, "weight_decay": 0.0}], lr=6e-3)
    total_steps = args.epochs * len(loader) // args.accum

    def schedule(s):
        if s < args.warmup:
            return (s + 1) / args.warmup
        p = (s - args.warmup) / max(1, total_steps - args.warmup)
        return 0.5 * (1 + math.cos(math.pi * p))

    sched = torch.optim.lr_scheduler.LambdaLR(opt, schedule)
    loss_fn = nn.MSELoss()
    opt.zero_grad()
    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for i, (x, y) in enumerate(loader):
            loss = loss_fn(model(x), y) / args.accum
            loss.backward()
            running += loss.item() * args.accum
            if (i + 1) % args.accum == 0:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                sched.step()
                opt.zero_grad()
        model.eval()
        with torch.no_grad():
            val = loss_fn(model(x_val), y_val).item()
        print(f"epoch {epoch} lr {sched.get_last_lr()[0]:.5f} train {running / len(loader):.4f} val {val:.4f}")


if __name__ == "__main__":
    main()
