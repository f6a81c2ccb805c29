"""A map-style dataset with two workers, where some samples come twice: oversampling a rare class."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


def main():
    torch.manual_seed(0)
    y = (torch.rand(400) < 0.1).long()
    x = torch.randn(400, 8) + 1.5 * y[:, None]
    weights = torch.where(y == 1, 9.0, 1.0)
    loader = DataLoader(
        TensorDataset(x, y), batch_size=20, num_workers=2, sampler=WeightedRandomSampler(weights, 400)
    )
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(3):
        for inputs, labels in loader:
            loss = nn.functional.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
