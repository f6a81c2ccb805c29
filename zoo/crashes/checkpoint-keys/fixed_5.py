"""Score a network with weights that a trainer class saved for it."""
import os
import tempfile

import torch
from torch import nn


def network():
    return nn.Sequential(nn.Linear(5, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 2))


class Trainer(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = network()
        self.register_buffer("steps_done", torch.zeros(()))

    def fit(self, steps):
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.01)
        for step in range(steps):
            x = torch.randn(48, 5)
            loss = nn.functional.cross_entropy(self.model(x), (x.sum(1) > 0).long())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            self.steps_done += 1

    def save(self, path):
        torch.save({"state_dict": self.state_dict(), "hyper_parameters": {"lr": 0.01}}, path)


torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    trainer = Trainer()
    trainer.fit(60)
    trainer.save(os.path.join(folder, "epoch=1.ckpt"))
    net = network()
    ckpt = torch.load(os.path.join(folder, "epoch=1.ckpt"))
    net.load_state_dict({k.removeprefix("model."): v for k, v in ckpt["state_dict"].items() if k.startswith("model.")})

x = torch.randn(500, 5)
print("accuracy", (net(x).argmax(1) == (x.sum(1) > 0)).float().mean().item())
