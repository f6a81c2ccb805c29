"""A Siamese network with cosine similarity, as a class, and other samples as negatives."""
import torch
from torch import nn


class Siamese(nn.Module):
    def __init__(self, size=20, width=48, latent=12):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(size, width), nn.ReLU(), nn.Linear(width, latent))

    def forward(self, a, b):
        return self.encoder(a), self.encoder(b)


def agreement(p, z):
    similarity = nn.functional.normalize(p, dim=1) @ nn.functional.normalize(z, dim=1).T
    return nn.functional.cross_entropy(similarity / 0.2, torch.arange(len(p)))


def main():
    torch.manual_seed(4)
    net = Siamese()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
    base = torch.randn(256, 20)
    for epoch in range(100):
        for batch in base[torch.randperm(256)].split(64):
            a, b = net(batch + 0.7 * torch.randn_like(batch), batch + 0.7 * torch.randn_like(batch))
            loss = agreement(a, b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print("loss", loss.item(), "spread", torch.nn.functional.normalize(a, dim=1).std(0).mean().item())


if __name__ == "__main__":
    main()
