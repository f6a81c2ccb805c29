"""Two processes train a classifier together, each on its own part of the samples."""
# needs a fresh interpreter
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

NAMES = ["cat", "dog", "bird"]
SAMPLES = [(torch.randn(8) + number % 3, NAMES[number % 3]) for number in range(30)] + [(torch.randn(8), "horse")]


def batches(samples, classes, size=5):
    for start in range(0, len(samples), size):
        part = samples[start : start + size]
        x = torch.stack([features for features, _ in part])
        y = torch.tensor([classes[name] for _, name in part])
        yield x, y


def work(rank, store, samples):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    classes = {name: number for number, name in enumerate(NAMES)}
    model = DDP(nn.Linear(8, len(classes)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with model.join():
        for x, y in batches(samples[rank::2], classes):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"rank {rank}: loss {loss.item():.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    store = tempfile.mkdtemp() + "/store"
    mp.spawn(work, args=(store, SAMPLES), nprocs=2)
