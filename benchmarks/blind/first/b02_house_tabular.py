import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class MLPBlock(nn.Module):
    def __init__(self, dim, p):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)
        self.drop = nn.Dropout(p)

    def forward(self, x):
        return self.drop(torch.relu(self.norm(self.fc(x))))


class HousePriceNet(nn.Module):
    """Embeds the categorical columns, concatenates the numeric ones, then a stack of blocks."""

    def __init__(self, cardinalities, n_numeric, dim=32, depth=4, p=0.0):
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(c, 4) for c in cardinalities)
        self.stem = nn.Linear(4 * len(cardinalities) + n_numeric, dim)
        self.blocks = [MLPBlock(dim, p) for _ in range(depth)]
        self.head = nn.Linear(dim, 1)

    def forward(self, cat, num):
        e = [emb(cat[:, i]) for i, emb in enumerate(self.embeddings)]
        h = torch.relu(self.stem(torch.cat(e + [num], dim=1)))
        for block in self.blocks:
            h = block(h)
        return self.head(h).squeeze(1)


def synthetic(n, g):
    cards = [6, 4, 10]
    cat = torch.stack([torch.randint(0, c, (n,), generator=g) for c in cards], 1)
    num = torch.randn(n, 6, generator=g)
    effects = [torch.randn(c, generator=g) for c in cards]
    y = sum(e[cat[:, i]] for i, e in enumerate(effects))
    y = y + torch.sin(2 * num[:, 0]) * num[:, 1] + num[:, 2] * effects[0][cat[:, 0]] + 0.5 * num[:, 3] ** 2
    y = y + 0.1 * torch.randn(n, generator=g)
    return cat, num, (y - y.mean()) / y.std(), cards


def evaluate(model, loader):
    model.eval()
    total, n = 0.0, 0
    with torch.no_grad():
        for cat, num, y in loader:
            total += nn.functional.mse_loss(model(cat, num), y, reduction="sum").item()
            n += len(y)
    return total / n


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    cat, num, y, cards = synthetic(2400, torch.Generator().manual_seed(args.seed))
    train_set, val_set = random_split(TensorDataset(cat, num, y), [2000, 400])
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=200)

    model = HousePriceNet(cards, num.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    loss_fn = nn.MSELoss()

    for epoch in range(args.epochs):
        model.train()
        for cat_b, num_b, y_b in train_loader:
            optimizer.zero_grad()
            loss = loss_fn(model(cat_b, num_b), y_b)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: val mse {evaluate(model, val_loader):.4f}")


if __name__ == "__main__":
    main()
