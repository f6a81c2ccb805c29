"""Noisy digit-like glyphs in a custom Dataset; training and held-out parts are drawn with random_split."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class Glyphs(Dataset):
    def __init__(self, n=400):
        g = torch.Generator().manual_seed(11)
        protos = torch.randn(8, 1, 8, 8, generator=g)
        self.y = torch.randint(8, (n,), generator=g)
        self.x = protos[self.y] + 1.9 * torch.randn(n, 1, 8, 8, generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"image": self.x[i], "label": self.y[i]}


def make_loaders(dataset, batch_size=32):
    n_val = len(dataset) // 4
    train_part, val_part = random_split(dataset, [len(dataset) - n_val, n_val])
    return DataLoader(train_part, batch_size, shuffle=True), DataLoader(val_part, batch_size)


def epoch(model, loader, optimizer=None):
    model.train(optimizer is not None)
    total = hits = seen = 0
    with torch.set_grad_enabled(optimizer is not None):
        for batch in loader:
            out = model(batch["image"])
            loss = nn.functional.cross_entropy(out, batch["label"])
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(out)
            hits += (out.argmax(1) == batch["label"]).sum().item()
            seen += len(out)
    return total / seen, hits / seen


torch.manual_seed(2)
train_loader, val_loader = make_loaders(Glyphs())
model = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12 * 16, 64), nn.ReLU(), nn.Linear(64, 8)
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for e in range(20):
    t = epoch(model, train_loader, optimizer)
    v = epoch(model, val_loader)
    if e % 5 == 4:
        print(e, t, v)
