"""A Siamese network with cosine similarity, as a class; the stop-gradient was forgotten."""
import torch
from torch import nn


class Siamese(nn.Module):
    def __init__(self, size=20, width=48, latent=12):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(size, width), nn.ReLU(), nn.Linear(width, latent))

    def forward(self, a, b):
        return self.encoder(a), self.encoder(b)


def agreement(p, z):
    return -nn.functional.cosine_similarity(p, z, dim=1).mean()


def main():
    torch.manual_seed(4)
    net = Siamese()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.6, momentum=0.9)
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
