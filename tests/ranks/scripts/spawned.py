"""Starts two ranks itself: one as a fork by multiprocessing's Process, one by torch, a fork or a new process
(or both by torch); beside them a process that is none, and in each rank a loader with a worker."""

import multiprocessing
import os
import socket
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

RANKS = 2


def train(rank: int, port: int, fault: str) -> None:
    torch.set_num_threads(1)
    rendezvous = f"tcp://127.0.0.1:{port}"
    dist.init_process_group("gloo", init_method=rendezvous, rank=rank, world_size=RANKS)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    torch.manual_seed(rank + 1)
    inputs = torch.randn(128, 8)
    data = TensorDataset(inputs, inputs.sum(dim=1, keepdim=True))
    # Forks in any case: a rank that was spawned would spawn its workers, and each would import torch.
    loader = DataLoader(data, 16, shuffle=True, num_workers=1, multiprocessing_context="fork")
    for epoch in range(3):
        for number, (sample, target) in enumerate(loader):
            # Not between epochs: a worker that starts while its rank is killed waits for ever, in torch itself.
            if fault == "crash" and rank == 1 and (epoch, number) == (1, 4):
                raise ValueError("a sample that cannot be read")
            loss = nn.functional.mse_loss(model(sample), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    torch.save([model.state_dict(), torch.get_rng_state()], f"weights{rank}.pt")
    dist.destroy_process_group()


def count(numbers: "multiprocessing.Queue[int]") -> None:
    numbers.put(sum(range(1000)))


def train_second(index: int, port: int, fault: str) -> None:
    train(index + 1, port, fault)


def main() -> None:
    way, fault = sys.argv[1], sys.argv[2]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    if way == "torch-fork":
        mp.start_processes(train, (port, fault), nprocs=RANKS, start_method="fork")
        return
    context = multiprocessing.get_context(way)
    numbers = context.Queue()
    first = multiprocessing.get_context("fork").Process(target=train, args=(0, port, fault))
    processes = [first, context.Process(target=count, args=(numbers,))]
    for process in processes:
        process.start()
    mp.start_processes(train_second, (port, fault), nprocs=1, start_method=way)  # waits for it
    print("counted", numbers.get())
    for process in processes:
        process.join()
    print("codes", [process.exitcode for process in processes])
    print("environment", sorted(name for name in os.environ if "DEBUGGER" in name))


if __name__ == "__main__":
    main()
