"""Trains on two ranks, each with the files of its own folder."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


def load_share(rank: int) -> TensorDataset:
    size = (400, 520)[rank]
    features = torch.randn(size, 10, generator=torch.Generator().manual_seed(rank))
    return TensorDataset(features, features[:, :4].argmax(dim=1))


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    loader = DataLoader(load_share(dist.get_rank()), batch_size=20, shuffle=True)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4)))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(5):
        for inputs, labels in loader:
            loss = nn.functional.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
