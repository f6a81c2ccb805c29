"""Rate the moves of a board game from its positions with a deep tower, trained in half precision."""
import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self, width=32, depth=3, moves=128):
        super().__init__()
        self.enter = nn.Linear(32, width)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.leave = nn.Linear(width, moves)

    def forward(self, x):
        x = torch.relu(self.enter(x))
        for layer in self.layers:
            x = x + 0.1 * torch.relu(layer(x))
        return self.leave(x)


def train(steps=100, batch=256):
    torch.manual_seed(1)
    model = Tower()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-12)
    scaler = torch.amp.GradScaler("cpu")
    best = torch.randn(32, 128)
    for step in range(1, steps + 1):
        board = torch.randn(batch, 32)
        target = torch.softmax(board @ best / 4, dim=-1)
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            scores = model(board)
            loss = nn.functional.mse_loss(torch.softmax(scores, dim=-1), target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if step % 20 == 0:
            print(f"{step}: {1e6 * loss.item():.2f}e-6, scale {scaler.get_scale():g}")


if __name__ == "__main__":
    train()
