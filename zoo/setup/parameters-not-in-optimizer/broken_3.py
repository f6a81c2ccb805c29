"""Train the head for some epochs, then everything: the optimizer was told what to train at the start."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        return self.head(self.encoder(x))


class Trainer:
    def __init__(self, model, lr=3e-3):
        self.model = model
        for p in model.encoder.parameters():
            p.requires_grad = False
        self.opt = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=lr)

    def unfreeze(self):
        for p in self.model.encoder.parameters():
            p.requires_grad = True

    def fit(self, loader, epochs, unfreeze_at):
        for epoch in range(epochs):
            if epoch == unfreeze_at:
                self.unfreeze()
            for x, y in loader:
                loss = nn.functional.cross_entropy(self.model(x), y)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
            print(epoch, loss.item())


torch.manual_seed(4)
x = torch.randn(1000, 20)
y = ((x[:, 0] * x[:, 1] > 0).long() + 2 * (x[:, 2] > x[:, 3]).long())
Trainer(Model()).fit(DataLoader(TensorDataset(x, y), 40, shuffle=True), 10, 3)
