# episodes of a few batches each: every one opens the loader anew
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Sines(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        t = torch.linspace(0, 6.28, 40)
        phase = torch.rand(()) * 6.28
        return torch.sin(t + phase)[:32], torch.sin(t + phase)[32:]


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.data = DataLoader(
            Sines(),
            batch_size=16,
            num_workers=2,
        )
        self.net = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 8))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=3e-3)

    def episode(self):
        for past, future in self.data:
            loss = (self.net(past) - future).pow(2).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return loss.item()


if __name__ == "__main__":
    trainer = Trainer()
    for n in range(50):
        loss = trainer.episode()
    print(loss)
