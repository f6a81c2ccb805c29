"""Train an autoencoder; a history object collects what happens."""
from collections import defaultdict

import torch
from torch import nn


class History:
    def __init__(self):
        self.values = defaultdict(list)
        self.outputs = []

    def log(self, name, value, output):
        self.values[name].append(float(value))
        self.outputs.append({"output": output.detach(), "step": len(self.outputs)})


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(30, 6)
        self.decode = nn.Linear(6, 30)

    def forward(self, x):
        return self.decode(torch.tanh(self.encode(x)))


def train(model, history, steps=250):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    mixing = torch.randn(4, 30)
    for _ in range(steps):
        batch = torch.randn(48, 4) @ mixing
        reconstruction = model(batch)
        loss = (reconstruction - batch).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.log("loss", loss, reconstruction)


torch.manual_seed(1)
history = History()
train(AutoEncoder(), history)
print("first", history.values["loss"][0], "last", history.values["loss"][-1])
