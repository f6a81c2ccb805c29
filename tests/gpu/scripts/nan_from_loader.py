"""Supervised training from a DataLoader to the GPU."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def dataset():
    g = torch.Generator().manual_seed(5)
    x = torch.randn(640, 12, generator=g)
    y = (x[:, 0] - x[:, 5] > 0).long()
    x[150, 7] = float("nan")
    return TensorDataset(x, y)


def main():
    torch.manual_seed(5)
    device = "cuda"
    loader = DataLoader(dataset(), batch_size=32, pin_memory=device == "cuda")
    net = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 2)).to(device)
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3, fused=True)
    for epoch in range(3):
        for x, y in loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
