"""An MLP on noisy clusters, with a validation set."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Clusters(Dataset):
    def __init__(self, count=500, features=40, seed=0):
        generator = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 4, (count,), generator=generator)
        centres = torch.randn(4, features, generator=generator)
        self.x = 0.5 * centres[self.y] + 1.5 * torch.randn(count, features, generator=generator)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        return self.x[index], self.y[index]


def evaluate(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    model.train()
    return right / total


def main():
    torch.manual_seed(0)
    dataset = Clusters()
    train_set, val_set = torch.utils.data.random_split(dataset, [400, 100])
    train_loader = DataLoader(train_set, batch_size=25, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=25)
    model = nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(5):
        for x, y in train_loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}, validation {evaluate(model, val_loader):.2f}")


if __name__ == "__main__":
    main()
