"""Gradient accumulation with a DataLoader, a remainder at the epoch's end and loss scaling by hand."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

config = dict(batch_size=8, accumulate=8, epochs=6, lr=5e-3)


def build_loader():
    x = torch.randn(808, 12)
    y = torch.stack([x[:, :4].sum(1), (x[:, 4] * x[:, 5])], dim=1)
    return DataLoader(TensorDataset(x, y), batch_size=config["batch_size"], shuffle=True)


def run():
    torch.manual_seed(config["epochs"])
    loader = build_loader()
    model = nn.Sequential(nn.Linear(12, 64), nn.GELU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    for epoch in range(config["epochs"]):
        model.train()
        epoch_loss = 0.0
        for i, (x, y) in enumerate(loader):
            loss = nn.functional.mse_loss(model(x), y)
            (loss / config["accumulate"]).backward()
            epoch_loss += loss.item()
            if (i + 1) % config["accumulate"] == 0 or i + 1 == len(loader):
                optimizer.step()
                optimizer.zero_grad()
        print(f"epoch {epoch}: {epoch_loss / len(loader):.4f}")


if __name__ == "__main__":
    run()
