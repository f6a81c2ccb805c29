# Autoencoder in two modules; the code is whitened in numpy before it is decoded.
import numpy as np
import torch
from torch import nn


def whiten(code):
    return (code - code.mean(dim=0)) / (code.std(dim=0) + 1e-5)


def train(steps=250):
    torch.manual_seed(1)
    np.random.seed(1)
    mixing = torch.randn(3, 20)
    encoder = nn.Sequential(nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, 3))
    decoder = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 20))
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)
    for step in range(steps):
        x = torch.randn(64, 3) @ mixing
        code = encoder(x)
        code = whiten(code)
        loss = nn.functional.mse_loss(decoder(code), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(step, round(loss.item(), 4))


train()
