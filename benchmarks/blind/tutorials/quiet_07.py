"""Prototypical network: classes are represented by the mean of their support examples."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F


class Embedder(nn.Module):
    def __init__(self, n_in=20, n_out=16):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(n_in, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, n_out))

    def forward(self, x):
        return self.f(x)


class World:
    """Classes differ in four hidden directions, the other directions are noise."""

    def __init__(self, classes=60, dim=20):
        self.mix = torch.linalg.qr(torch.randn(dim, dim)).Q
        self.centres = 2.0 * torch.randn(classes, 4)

    def draw(self, cls, n):
        signal = self.centres[cls].unsqueeze(1) + 0.5 * torch.randn(len(cls), n, 4)
        noise = 2.0 * torch.randn(len(cls), n, self.mix.size(0) - 4)
        return torch.cat([signal, noise], dim=-1) @ self.mix


def episode(net, world, pool, way, shot, query):
    cls = pool[torch.randperm(len(pool))[:way]]
    data = world.draw(cls, shot + query)
    z = net(data)
    prototypes = z[:, :shot].mean(dim=1)
    queries = z[:, shot:].reshape(way * query, -1)
    logits = -torch.cdist(queries, prototypes).pow(2)
    target = torch.arange(way).repeat_interleave(query)
    return F.cross_entropy(logits, target), (logits.argmax(1) == target).float().mean()


def main(a):
    torch.set_num_threads(1)
    torch.manual_seed(a.seed)
    world, net = World(), Embedder()
    opt = torch.optim.Adam(net.parameters(), lr=a.lr)
    seen, unseen = torch.arange(45), torch.arange(45, 60)
    for i in range(1, a.episodes + 1):
        loss, acc = episode(net, world, seen, a.way, a.shot, 8)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if i % 100 == 0:
            with torch.no_grad():
                scores = [episode(net, world, unseen, a.way, a.shot, 8)[1] for _ in range(20)]
            print(f"episode {i} loss {loss.item():.3f} accuracy on new classes {torch.stack(scores).mean().item():.3f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--episodes", type=int, default=600)
    p.add_argument("--way", type=int, default=5)
    p.add_argument("--shot", type=int, default=5)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=6)
    main(p.parse_args())
