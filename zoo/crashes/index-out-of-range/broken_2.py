"""Wine grades 1 to 5 from chemical measurements."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def load_wines(n=600):
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(n, 11, generator=generator)
    quality = x[:, 0] - x[:, 3] + 0.5 * x[:, 7]
    grade = torch.bucketize(quality, torch.tensor([-1.2, -0.4, 0.4, 1.2])) + 1
    return x, grade


def main():
    torch.manual_seed(3)
    loader = DataLoader(TensorDataset(*load_wines()), batch_size=60, shuffle=True)
    model = nn.Sequential(nn.Linear(11, 32), nn.ReLU(), nn.Linear(32, 5))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(8):
        total = 0.0
        for x, grade in loader:
            loss = F.cross_entropy(model(x), grade)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
