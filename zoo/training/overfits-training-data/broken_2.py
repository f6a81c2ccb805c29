"""Sentiment of short reviews with few labelled samples; validation with functions after every epoch."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class Bag(nn.Module):
    def __init__(self, words=400):
        super().__init__()
        self.embed = nn.EmbeddingBag(words, 64)
        self.head = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 2))

    def forward(self, tokens):
        return self.head(self.embed(tokens))


def run_epoch(model, loader, optimizer=None):
    total, count = 0.0, 0
    for tokens, label in loader:
        with torch.set_grad_enabled(optimizer is not None):
            loss = F.cross_entropy(model(tokens), label)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total, count = total + loss.item() * len(label), count + len(label)
    return total / count


torch.manual_seed(0)
tokens = torch.randint(0, 400, (260, 12))
label = ((tokens < 40).sum(1) > (tokens > 360).sum(1)).long()
flip = torch.rand(260) < 0.15
label[flip] = 1 - label[flip]
train_set, val_set = random_split(TensorDataset(tokens, label), [160, 100])
train_loader, val_loader = DataLoader(train_set, 20, shuffle=True), DataLoader(val_set, 50)
model = Bag()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(40):
    train_loss = run_epoch(model.train(), train_loader, optimizer)
    val_loss = run_epoch(model.eval(), val_loader)
    if epoch % 4 == 0:
        print(f"epoch {epoch}: train {train_loss:.3f} val {val_loss:.3f}")
