"""House prices from a table: area, rooms, year, distance to the centre in metres."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def make_table(count):
    area = torch.rand(count) * 150 + 30
    rooms = (area / 25).round()
    year = torch.randint(1900, 2020, (count,)).float()
    distance = torch.rand(count) * 20000
    price = 0.03 * area + 0.2 * rooms - 0.00012 * distance + 0.01 * (year - 1960)
    table = torch.stack([area, rooms, year, distance], dim=1)
    return table, (price - price.mean()).unsqueeze(1) / price.std()


def train(args):
    torch.manual_seed(args.seed)
    table, price = make_table(800)
    table = (table - table.mean(0)) / table.std(0)
    net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr)
    for step in range(args.steps):
        rows = torch.randint(0, len(table), (64,))
        x, y = table[rows], price[rows]
        loss = F.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"{step:4d} {loss.item():.4f}")
    print(f"final {loss.item():.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=0)
    train(parser.parse_args())
