"""GRU forecaster for a bursty load series."""
import argparse
import numpy as np
import torch
import torch.nn as nn


def make_series(n, seed):
    r = np.random.RandomState(seed)
    t = np.arange(n)
    s = np.sin(2 * np.pi * t / 24) + 0.5 * np.sin(2 * np.pi * t / 7) + 0.05 * r.randn(n)
    burst = r.rand(n) < 0.004
    s[burst] += r.choice([-1, 1], burst.sum()) * r.uniform(150, 400, burst.sum())
    return torch.tensor(s, dtype=torch.float32), torch.tensor(burst)


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h, _ = self.gru(torch.tanh(x / 3).unsqueeze(-1))
        return self.out(h[:, -1]).squeeze(-1)


def windows(series, idx, size):
    x = torch.stack([series[i:i + size] for i in idx])
    y = torch.stack([series[i + size] for i in idx])
    return x, y


def main(args):
    torch.manual_seed(args.seed)
    series, burst = make_series(4000, args.seed)
    test, test_burst = make_series(900, args.seed + 1)
    model = Forecaster()
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    starts = np.arange(len(series) - args.window - 1)
    rng = np.random.RandomState(args.seed)
    avg = None
    for step in range(1, args.steps + 1):
        idx = rng.choice(starts, args.batch)
        x, y = windows(series, idx, args.window)
        opt.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        opt.step()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        med = loss.item()
        avg = med if avg is None else 0.95 * avg + 0.05 * med
        if step % 40 == 0:
            print(f"step {step:4d} loss {med:10.4f} smoothed {avg:10.4f}")
    keep = [i for i in range(len(test) - args.window - 1) if not test_burst[i:i + args.window + 1].any()]
    x, y = windows(test, keep, args.window)
    with torch.no_grad():
        print("calm-hours mae", (model(x) - y).abs().mean().item())


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--lr", type=float, default=0.03)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--window", type=int, default=24)
    p.add_argument("--batch", type=int, default=48)
    p.add_argument("--steps", type=int, default=260)
    p.add_argument("--seed", type=int, default=6)
    main(p.parse_args())
