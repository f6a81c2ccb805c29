"""Train a small classifier with settings from a configuration."""
import torch
import torch.nn as nn

CONFIG = {"lr": 1e-7, "batch": 64, "steps": 300}


def main(config):
    torch.manual_seed(0)
    centers = torch.randn(5, 16)
    net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 5))
    optimizer = torch.optim.Adam(net.parameters(), lr=config["lr"])
    for step in range(config["steps"]):
        y = torch.randint(0, 5, (config["batch"],))
        x = centers[y] + torch.randn(config["batch"], 16)
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            print(f"step {step}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main(CONFIG)
