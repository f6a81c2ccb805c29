"""Large batches from tensors in memory, each taken with one index."""

import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset


def main():
    torch.manual_seed(0)
    x = torch.randn(32768, 16)
    y = (x[:, :4] + 0.1 * torch.randn(32768, 4)).argmax(1)
    data = TensorDataset(x, y)
    batches = BatchSampler(RandomSampler(data), batch_size=2048, drop_last=False)
    loader = DataLoader(data, batch_size=None, sampler=batches)
    net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for epoch in range(10):
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(inputs), labels)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
