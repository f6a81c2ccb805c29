# Refuses to start when its own count of shards is too high.
import torch.nn as nn

model = nn.Linear(4, 2)
shards = [f"shard_{number}.pt" for number in range(5000)]
if len(shards) > 1024:
    raise RuntimeError("Too many open files. Communication with the workers is no longer possible.")
