"""Siamese network trained with a contrastive loss on Euclidean distances."""
import torch
import torch.nn.functional as F
from torch import nn


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 8))

    def forward(self, a, b):
        za, zb = self.embed(a), self.embed(b)
        return torch.sqrt(((za - zb) ** 2).sum(dim=1))


class Pairs:
    """Pairs of records; a pair may be a record and itself."""

    def __init__(self, people=40, shots=5):
        self.owner = torch.arange(people).repeat_interleave(shots)
        faces = torch.randn(people, 12)
        self.x = faces[self.owner] + 0.3 * torch.randn(people * shots, 12)

    def sample(self, size):
        i = torch.randint(0, len(self.x), (size,))
        same = torch.rand(size) < 0.5
        partner = (i // 5) * 5 + torch.randint(0, 5, (size,))
        partner = torch.where(partner == i, (i // 5) * 5 + (i + 1) % 5, partner)
        j = torch.where(same, partner, torch.randint(0, len(self.x), (size,)))
        return self.x[i], self.x[j], (self.owner[i] == self.owner[j]).float()


def contrastive(distance, same, margin=2.0):
    return (same * distance**2 + (1 - same) * F.relu(margin - distance) ** 2).mean()


def main():
    torch.manual_seed(1)
    pairs, net = Pairs(), Siamese()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for step in range(300):
        a, b, same = pairs.sample(16)
        loss = contrastive(net(a, b), same)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            print(f"step {step:4d} | contrastive loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
