"""A million captions of a few words each; a hash of the words is all that the model reads."""

import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

WORDS = ["red", "blue", "cat", "dog", "runs", "sleeps", "under", "over", "tree", "table"]


class Captions(Dataset):
    def __init__(self, count):
        rng = random.Random(0)
        captions = [f"{rng.choice(WORDS)} {rng.choice(WORDS)} {number}" for number in range(count)]
        self.captions = captions

    def __len__(self):
        return len(self.captions)

    def __getitem__(self, index):
        first, second, _ = self.captions[index].split(" ")
        x = torch.zeros(len(WORDS))
        x[WORDS.index(first)] += 1.0
        x[WORDS.index(second)] += 1.0
        return x, int(first == "cat" or second == "cat")


def main():
    torch.manual_seed(0)
    loader = DataLoader(Captions(1_000_000), batch_size=256, shuffle=True, num_workers=2)
    net = nn.Sequential(nn.Linear(len(WORDS), 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        if step == 299:
            break
    print(f"{loss.item():.4f}")


if __name__ == "__main__":
    main()
