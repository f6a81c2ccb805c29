"""Train and validate, keep the best checkpoint in a temporary folder, stop early."""
import os
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class Trainer:
    def __init__(self, model, train_set, val_set, folder, patience=5):
        self.model = model
        self.train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
        self.val_loader = DataLoader(val_set, batch_size=128)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
        self.scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(self.optimizer, factor=0.5, patience=2)
        self.criterion = nn.MSELoss()
        self.path = os.path.join(folder, "best.pt")
        self.patience = patience

    def train_epoch(self):
        self.model.train()
        for x, y in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        losses = [self.criterion(self.model(x), y).item() * len(x) for x, y in self.val_loader]
        return sum(losses) / len(self.val_loader.dataset)

    def fit(self, max_epochs):
        best, waited = float("inf"), 0
        for epoch in range(max_epochs):
            self.train_epoch()
            val = self.validate()
            self.scheduler.step(val)
            marker = ""
            if val < best:
                best, waited, marker = val, 0, "*"
                torch.save({"model": self.model.state_dict(), "epoch": epoch}, self.path)
            else:
                waited += 1
            print(f"epoch {epoch:02d} val_loss {val:.4f} {marker}")
            if waited >= self.patience:
                print("early stop")
                break
        self.model.load_state_dict(torch.load(self.path)["model"])
        return best


if __name__ == "__main__":
    torch.manual_seed(21)
    x = torch.randn(700, 8)
    y = (x[:, :1] - x[:, 1:2] * x[:, 2:3]) + 0.2 * torch.randn(700, 1)
    train_set, val_set = random_split(TensorDataset(x, y), [560, 140])
    net = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 1))
    with tempfile.TemporaryDirectory() as folder:
        print("best validation loss %.4f" % Trainer(net, train_set, val_set, folder).fit(18))
