"""Small convolutional net for two-channel pictures, shapes are asserted between the stages."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class Quadrants(Dataset):
    """The label says in which quarter of the picture the bright patch lies."""

    def __init__(self, n):
        self.label = torch.randint(0, 4, (n,))
        self.image = 0.3 * torch.rand(n, 2, 20, 20)
        for i, k in enumerate(self.label.tolist()):
            r, c = 10 * (k // 2), 10 * (k % 2)
            self.image[i, :, r + 2:r + 7, c + 2:c + 7] += 0.7

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return self.image[i], self.label[i]


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(2, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(16 * 5 * 5, 4)

    def forward(self, x):
        n = x.shape[0]
        assert x.dim() == 4, f"expected a batch of pictures, got {tuple(x.shape)}"
        x = self.pool(F.relu(self.conv1(x)))
        assert x.shape == (n, 8, 10, 10), f"after stage 1: {tuple(x.shape)}"
        x = self.pool(F.relu(self.conv2(x)))
        assert x.shape == (n, 16, 5, 5), f"after stage 2: {tuple(x.shape)}"
        return self.fc(x.flatten(1))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(3)
    loader = DataLoader(Quadrants(800), batch_size=40, shuffle=True)
    model = SmallCNN()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(5):
        hits = seen = 0
        for img, lab in loader:
            scores = model(img)
            loss = F.cross_entropy(scores, lab)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hits += (scores.argmax(1) == lab).sum().item()
            seen += len(lab)
        print(f"epoch {epoch} loss {loss.item():.3f} accuracy {hits / seen:.3f}")


main()
