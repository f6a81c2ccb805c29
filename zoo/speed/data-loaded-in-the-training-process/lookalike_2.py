"""The validation data comes slowly, from files, but rarely: the training waits little for it."""

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset


class Files(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        time.sleep(0.003)
        return self.x[index], self.y[index]


def main():
    torch.manual_seed(0)
    x = torch.randn(1120, 128)
    y = (x[:, :4] + 0.1 * torch.randn(1120, 4)).argmax(1)
    train_loader = DataLoader(TensorDataset(x[:1024], y[:1024]), batch_size=16, shuffle=True)
    val_loader = DataLoader(Files(x[1024:], y[1024:]), batch_size=16)
    net = nn.Sequential(nn.Linear(128, 768), nn.ReLU(), nn.Linear(768, 768), nn.ReLU(), nn.Linear(768, 4))
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-4)
    for epoch in range(3):
        net.train()
        for inputs, labels in train_loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(inputs), labels)
            loss.backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            right = sum((net(inputs).argmax(1) == labels).sum().item() for inputs, labels in val_loader)
        print(f"epoch {epoch}: {loss.item():.4f}, {right} of 96 right")


if __name__ == "__main__":
    main()
