# Classify shapes drawn as curves; the files are read folder by folder.
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Curves(Dataset):
    def __init__(self, each, seed):
        generator = torch.Generator().manual_seed(seed)
        t = torch.linspace(-1, 1, 30)
        shapes = [t, t**2, t**3 - t, torch.sin(3 * t), torch.cos(4 * t)]
        self.items = []
        for label, shape in enumerate(shapes):
            for _ in range(each):
                scale = 0.5 + torch.rand(1, generator=generator)
                self.items.append((scale * shape + 0.3 * torch.randn(30, generator=generator), label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


def accuracy(model, dataset):
    with torch.no_grad():
        x = torch.stack([item[0] for item in dataset.items])
        y = torch.tensor([item[1] for item in dataset.items])
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(Curves(128, 0), batch_size=32)
    model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(6):
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}, test accuracy {accuracy(model, Curves(40, 1)):.2f}")


main()
