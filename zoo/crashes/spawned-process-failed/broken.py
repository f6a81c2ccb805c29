"""Two processes train one classifier in shared memory, each on its own part of the samples."""

import torch
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn

NAMES = ["cat", "dog", "bird"]
SAMPLES = [(torch.randn(8) + number % 3, NAMES[number % 3]) for number in range(30)] + [(torch.randn(8), "horse")]


def batches(samples, classes, size=5):
    for start in range(0, len(samples), size):
        part = samples[start : start + size]
        x = torch.stack([features for features, _ in part])
        y = torch.tensor([classes[name] for _, name in part])
        yield x, y


def work(number, model, samples):
    torch.set_num_threads(1)
    classes = {name: number for number, name in enumerate(NAMES)}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in batches(samples[number::2], classes):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"process {number}: loss {loss.item():.3f}")


if __name__ == "__main__":
    model = nn.Linear(8, len(NAMES))
    model.share_memory()
    mp.spawn(work, args=(model, SAMPLES), nprocs=2)
