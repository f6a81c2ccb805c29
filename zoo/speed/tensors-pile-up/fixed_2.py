import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Signals(Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(1)
        self.signals = torch.randn(count, 1, 256, generator=generator)
        self.signals[::2] += torch.sin(torch.arange(256) / 4.0)

    def __len__(self):
        return len(self.signals)

    def __getitem__(self, index):
        return self.signals[index], int(index % 2 == 0)


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
        self.outputs = {"hidden": [], "labels": []}

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            total = 0.0
            for signals, labels in loader:
                total += self.step(signals, labels)
            print(f"epoch {epoch}: {total / len(loader):.3f}")

    def step(self, signals, labels):
        hidden = self.model[0](signals)
        loss = nn.functional.cross_entropy(self.model[1](hidden), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.outputs["hidden"].append(hidden.detach().mean(dim=2))
        self.outputs["labels"].append(labels)
        return loss.item()


torch.manual_seed(0)
features = nn.Sequential(nn.Conv1d(1, 32, 9, padding=4), nn.ReLU())
classifier = nn.Sequential(nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(128, 2))
trainer = Trainer(nn.ModuleList([features, classifier]))
trainer.fit(DataLoader(Signals(512), batch_size=32, shuffle=True), epochs=7)
