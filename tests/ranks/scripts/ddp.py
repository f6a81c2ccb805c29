"""Trains a small network on every rank; the first argument says what goes wrong, and on which rank."""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def die_alone(rank: int, victim: int) -> None:
    """While all others stand still: torchrun might else see one first that failed for want of the dead one."""
    if rank != victim:
        open(f"stands{rank}", "w").close()
        time.sleep(600)
    while not all(os.path.exists(f"stands{other}") for other in range(dist.get_world_size()) if other != victim):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    fault, _, faulty = (sys.argv[1] if len(sys.argv) > 1 else "").partition(":")
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 32, bias=False), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
    model = DistributedDataParallel(net)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    torch.manual_seed(rank + 1)
    inputs = torch.randn(256, 8)
    targets = inputs.sum(dim=1, keepdim=True)
    for step in range(100_000 if fault == "endless" else 60):
        chosen = torch.randint(256, (32,))
        loss = nn.functional.mse_loss(model(inputs[chosen]), targets[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if fault == "endless":
            time.sleep(0.02)
        if step == 40 and fault == "kill":
            die_alone(rank, int(faulty))
        if step == 40 and faulty == str(rank):
            raise ValueError("a sample that cannot be read")
    torch.save([model.state_dict(), optimizer.state_dict(), torch.get_rng_state()], f"weights{rank}.pt")
    print(f"rank {rank} has trained", flush=True)
    dist.destroy_process_group()


main()
