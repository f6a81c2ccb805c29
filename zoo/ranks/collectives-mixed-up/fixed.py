"""Trains on two ranks and averages the loss and the accuracy over them."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def average(value: torch.Tensor) -> float:
    value = value.detach().clone()
    dist.all_reduce(value)
    return value.item() / dist.get_world_size()


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 3)))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    history = []
    for _ in range(60):
        inputs = torch.randn(32, 12)
        labels = inputs[:, :3].argmax(dim=1)
        logits = model(inputs)
        loss = nn.functional.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        accuracy = average((logits.argmax(dim=1) == labels).float().mean())
        history.append(accuracy)
    history.append(average(loss))
    history.append(average(torch.tensor(float(len(history)))))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
