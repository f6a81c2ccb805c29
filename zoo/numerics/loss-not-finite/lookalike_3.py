"""Rare-event classifier; its validation recall is nan in epochs where no event turned up."""
import torch
from torch import nn


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        logits = model(x).squeeze(1)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, y)
        recall = ((logits > 0).float() * y).sum() / y.sum()
    model.train()
    return loss.item(), recall.item()


def draw(n, rate):
    y = (torch.rand(n) < rate).float()
    x = torch.randn(n, 6) + 1.5 * y[:, None]
    return x, y


def main():
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 1))
    criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(3.0))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(10):
        for _ in range(20):
            x, y = draw(64, rate=0.2)
            optimizer.zero_grad()
            loss = criterion(model(x).squeeze(1), y)
            loss.backward()
            optimizer.step()
        val_loss, recall = evaluate(model, *draw(40, rate=0.02))
        print(f"epoch {epoch}: train {loss.item():.3f} val {val_loss:.3f} recall {recall:.2f}")


if __name__ == "__main__":
    main()
