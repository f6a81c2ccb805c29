"""Fit a mixture of rates to counts; closed bins are left out of the likelihood."""
import torch
from torch import nn


class Rates(nn.Module):
    def __init__(self, bins=24):
        super().__init__()
        self.hidden = nn.Linear(3, 32)
        self.out = nn.Linear(32, bins)

    def forward(self, x):
        return nn.functional.softplus(self.out(torch.tanh(self.hidden(x))))


def likelihood(rate, counts, open_bins):
    rate = rate * open_bins
    log_rate = torch.where(rate > 0, torch.log(rate), torch.zeros_like(rate))
    return (rate - counts * log_rate).mean()


def main():
    torch.manual_seed(4)
    model = Rates()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    scaler = torch.amp.GradScaler("cpu")
    mixing = 4 * torch.rand(3, 24)
    open_bins = (torch.arange(24) % 7 != 6).float()
    for step in range(1, 151):
        x = torch.rand(64, 3)
        counts = torch.poisson(x @ mixing) * open_bins
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            rate = model(x)
            loss = likelihood(rate.float(), counts, open_bins)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if step % 15 == 0:
            print(f"{step}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
