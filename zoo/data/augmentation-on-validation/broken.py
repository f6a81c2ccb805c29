"""Digits as 8x8 patterns, augmented by shifts and noise, split into training and validation."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class Patterns(Dataset):
    def __init__(self, count, augment):
        self.augment = augment
        patterns = (torch.rand(10, 8, 8) > 0.5).float()
        self.labels = torch.randint(0, 10, (count,))
        self.images = patterns[self.labels] + 0.2 * torch.randn(count, 8, 8)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = self.images[index]
        if self.augment:
            shift = int(torch.randint(-2, 3, (1,)))
            image = torch.roll(image, shift, dims=1) + 0.5 * torch.randn(8, 8)
        return image.flatten(), self.labels[index]


class Trainer:
    def __init__(self, train_loader, val_loader):
        self.train_loader, self.val_loader = train_loader, val_loader
        self.model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-3)

    def train(self):
        self.model.train()
        for x, y in self.train_loader:
            loss = nn.functional.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        hits = [(self.model(x).argmax(1) == y).float().mean().item() for x, y in self.val_loader]
        return sum(hits) / len(hits)


torch.manual_seed(0)
dataset = Patterns(700, augment=True)
train_part, val_part = random_split(dataset, [600, 100])
trainer = Trainer(DataLoader(train_part, 30, shuffle=True), DataLoader(val_part, 50))
for epoch in range(6):
    print(f"epoch {epoch}: loss {trainer.train():.3f}, validation {trainer.validate():.2f}")
