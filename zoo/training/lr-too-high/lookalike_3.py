"""Curriculum: the task gets harder every 60 steps, so the loss jumps up and falls again."""
import torch
from torch import nn


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(1, 32, batch_first=True)
        self.out = nn.Linear(32, 1)

    def forward(self, bits):
        states, _ = self.rnn(bits)
        return self.out(states[:, -1])


def task(length, batch=32):
    values = torch.randn(batch, length, 1)
    return values, values.sum(dim=1)


def main():
    torch.manual_seed(15)
    model = Counter()
    warmup = 20
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / warmup))
    for step in range(240):
        length = (2, 4, 8, 14)[step // 60]
        values, total = task(length)
        loss = nn.functional.mse_loss(model(values), total)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if step % 20 == 0:
            print(f"step {step:3d} length {length:2d} mse {loss.item():.3f}")


if __name__ == "__main__":
    main()
