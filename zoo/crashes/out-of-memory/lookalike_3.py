"""A cache with a limit of its own that raises Python's MemoryError."""
import torch
import torch.nn as nn


class Cache:
    def __init__(self, limit):
        self.limit, self.items = limit, []

    def add(self, item):
        if len(self.items) >= self.limit:
            raise MemoryError("the cache is full")
        self.items.append(item)


cache = Cache(limit=5)
model = nn.Linear(4, 2)
for step in range(10):
    cache.add(model(torch.randn(3, 4)).detach())
    print(step, len(cache.items))
