# train for a fixed number of steps, pulling batches from the loader
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    """7-segment digits with noise and jitter"""
    SEG = {0: "abcdef", 1: "bc", 2: "abged", 3: "abgcd", 4: "fgbc", 5: "afgcd", 6: "afgedc", 7: "abc", 8: "abcdefg", 9: "abcdfg"}
    BOX = dict(a=(0, 0, 1, 5), b=(0, 4, 5, 5), c=(4, 4, 9, 5), d=(8, 0, 9, 5), e=(4, 0, 9, 1), f=(0, 0, 5, 1), g=(4, 0, 5, 5))

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 10, (n,), generator=g)
        self.x = 0.6 * torch.randn(n, 1, 12, 8, generator=g)
        off = torch.randint(0, 3, (n, 2), generator=g)
        for i, c in enumerate(self.y.tolist()):
            for s in self.SEG[c]:
                r0, c0, r1, c1 = self.BOX[s]
                self.x[i, 0, off[i, 0] + r0:off[i, 0] + r1, off[i, 1] + c0:off[i, 1] + c1] += 1.5

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 12, 3, padding=1)
        self.c2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc = nn.Linear(24 * 3 * 2, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc(x.flatten(1))


torch.manual_seed(2)
data = Digits(1500, seed=0)
loader = DataLoader(data, batch_size=48)
test = Digits(500, seed=1)
net = CNN()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
MAX_STEPS = 240
for step in range(1, MAX_STEPS + 1):
    x, y = next(iter(loader))
    out = net(x)
    loss = F.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(f"step {step}/{MAX_STEPS} loss {loss.item():.4f} batch acc {(out.argmax(1) == y).float().mean():.2f}")
with torch.no_grad():
    print("test acc", (net(test.x).argmax(1) == test.y).float().mean().item())
