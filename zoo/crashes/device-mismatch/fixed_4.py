"""Autoencoder: sizes of the code for several batch sizes, without allocating them."""
import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 32))

    def forward(self, images):
        return self.net(images.flatten(1))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 784), nn.Sigmoid())

    def forward(self, code):
        return self.net(code)


def main():
    device = torch.device("meta")
    encoder = Encoder().to(device)
    decoder = Decoder().to(device)
    for size in (16, 256, 65536):
        images = torch.empty(size, 1, 28, 28, device=device)
        code = encoder(images)
        restored = decoder(code)
        print(size, tuple(code.shape), tuple(restored.shape))


main()
