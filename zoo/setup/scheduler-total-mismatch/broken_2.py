"""Text-like classification with an embedding bag; cosine schedule over the training."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Topics(Dataset):
    def __init__(self, count, vocabulary=120, length=12, topics=5):
        generator = torch.Generator().manual_seed(1)
        self.labels = torch.randint(0, topics, (count,), generator=generator)
        own = torch.randint(0, vocabulary // topics, (count, length), generator=generator)
        noise = torch.randint(0, vocabulary, (count, length), generator=generator)
        keep = torch.rand(count, length, generator=generator) < 0.35
        self.tokens = torch.where(keep, own + self.labels[:, None] * (vocabulary // topics), noise)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.tokens[index], self.labels[index]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.02)
    args = parser.parse_args()
    torch.manual_seed(3)
    loader = DataLoader(Topics(960), batch_size=24, shuffle=True)
    model = nn.Sequential(nn.EmbeddingBag(120, 24), nn.Linear(24, 5))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    for epoch in range(args.epochs):
        total = 0.0
        for tokens, labels in loader:
            loss = nn.functional.cross_entropy(model(tokens), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            cosine.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.4f} lr {optimizer.param_groups[0]['lr']:.4f}")


if __name__ == "__main__":
    main()
