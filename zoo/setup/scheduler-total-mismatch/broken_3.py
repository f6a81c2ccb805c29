"""Keyword spotting with a GRU; micro-batches are accumulated under a one-cycle schedule."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Spotter(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(6, 32, batch_first=True)
        self.out = nn.Linear(32, 4)

    def forward(self, x):
        return self.out(self.gru(x)[1][-1])


class Trainer:
    accumulate = 4
    epochs = 8

    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, max_lr=1e-2, epochs=self.epochs, steps_per_epoch=len(loader)
        )

    def run(self):
        count = 0
        for epoch in range(self.epochs):
            for x, y in self.loader:
                loss = nn.functional.cross_entropy(self.model(x), y)
                (loss / self.accumulate).backward()
                count += 1
                if count % self.accumulate == 0:
                    self.optimizer.step()
                    self.scheduler.step()
                    self.optimizer.zero_grad()
            print(epoch, loss.item(), self.scheduler.get_last_lr()[0])


torch.manual_seed(61)
y = torch.randint(0, 4, (256,))
patterns = torch.randn(4, 6, 6)
x = patterns[y] + 1.2 * torch.randn(256, 6, 6)
Trainer(Spotter(), DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)).run()
