"""Trains on two ranks: some steps on made-up batches to warm up, then on shares of the data; all of the
validation data on both ranks."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    features = torch.randn(2048, 16)
    labels = features[:, :4].argmax(dim=1)
    training = TensorDataset(features[:1536], labels[:1536])
    validation = DataLoader(TensorDataset(features[1536:], labels[1536:]), batch_size=128)
    sampler = DistributedSampler(training, seed=3)
    loader = DataLoader(training, batch_size=32, sampler=sampler)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4)))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        inputs = torch.randn(32, 16)
        loss = nn.functional.cross_entropy(model(inputs), inputs[:, :4].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for epoch in range(5):
        sampler.set_epoch(epoch)
        model.train()
        for inputs, targets in loader:
            loss = nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for inputs, targets in validation:
                model(inputs).argmax(dim=1).eq(targets).float().mean()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
