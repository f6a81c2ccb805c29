import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
S = 10
bank = F.interpolate(torch.randn(10, 1, 4, 4), size=(S, S), mode="bilinear")


def images(n, classes):
    y = torch.randint(0, len(classes), (n,))
    x = bank[torch.tensor(classes)[y]] + 1.8 * torch.randn(n, 1, S, S)
    return x / 1.9, y


class Net(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.Flatten(),
        )
        self.head = nn.Linear(24 * 25, k)
        self.frozen = False

    def forward(self, x):
        return self.head(self.backbone(x))

    def freeze(self):
        self.frozen = True
        self.backbone.requires_grad_(False)
        self.backbone.eval()

    def train(self, mode=True):
        super().train(mode)
        if self.frozen:
            # the statistics of the pretrained layers stay as they were
            self.backbone.eval()
        return self


def fit(model, loader, val, optimizer, epochs, tag):
    for epoch in range(epochs):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            out = model(val[0])
            acc = (out.argmax(1) == val[1]).float().mean()
        print(f"{tag} {epoch}: loss {loss.item():.3f} val acc {acc:.3f}")


source, target = [0, 1, 2, 3, 4, 5], [6, 7, 8, 9]
model = Net(len(source))
loader = DataLoader(TensorDataset(*images(1200, source)), batch_size=40, shuffle=True)
fit(model, loader, images(300, source), torch.optim.Adam(model.parameters(), lr=2e-3), 3, "pretrain")

model.head = nn.Linear(24 * 25, len(target))
model.freeze()
small = DataLoader(TensorDataset(*images(240, target)), batch_size=16, shuffle=True)
val = images(300, target)
head_opt = torch.optim.SGD(model.head.parameters(), lr=0.01, momentum=0.9)
fit(model, small, val, head_opt, 5, "head")

# last: open the second convolution only, with a small rate
for p in model.backbone[4].parameters():
    p.requires_grad_(True)
opt = torch.optim.Adam([
    {"params": model.backbone[4].parameters(), "lr": 1e-4},
    {"params": model.head.parameters(), "lr": 5e-4},
])
fit(model, small, val, opt, 4, "top")
