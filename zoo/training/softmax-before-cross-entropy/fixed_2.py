"""CNN on synthetic 12x12 textures (stripes, checks, blobs, noise)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class TextureNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 3 * 3, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = self.fc(x.flatten(1))
        return x


def make_textures(n):
    y = torch.randint(0, 4, (n,))
    i = torch.arange(12).float()
    stripes = torch.sin(1.5 * i).expand(12, 12)
    checks = torch.sin(1.5 * i)[:, None] * torch.sin(1.5 * i)[None, :]
    blob = torch.exp(-((i[:, None] - 6) ** 2 + (i[None, :] - 6) ** 2) / 8)
    bank = torch.stack([stripes, checks, blob, torch.zeros(12, 12)])
    return (bank[y] + 0.6 * torch.randn(n, 12, 12)).unsqueeze(1), y


def train_one_epoch(model, optimizer, steps=30):
    total = 0.0
    for _ in range(steps):
        x, y = make_textures(32)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / steps


def main():
    torch.manual_seed(4)
    model = TextureNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(6):
        print("epoch", epoch, "avg loss", round(train_one_epoch(model, optimizer), 4))


if __name__ == "__main__":
    main()
