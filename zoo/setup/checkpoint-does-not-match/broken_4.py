"""Fine-tune: an encoder from reconstruction pretraining goes under a classifier."""
import io

import torch
from torch import nn


def make_encoder():
    return nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 16), nn.ReLU())


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = make_encoder()
        self.decoder = nn.Linear(16, 20)

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = make_encoder()
        self.fc = nn.Linear(16, 4)

    def forward(self, x):
        return self.fc(self.backbone(x))


def sample(n, basis):
    factors = torch.randn(n, 4)
    return torch.tanh(factors @ basis) + 0.05 * torch.randn(n, 20), factors.argmax(1)


def pretrain(basis, file):
    model = AutoEncoder()
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(150):
        x, _ = sample(64, basis)
        loss = (model(x) - x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    torch.save(model.state_dict(), file)


def load_pretrained(model, file):
    pretrained = torch.load(file)
    current = model.state_dict()
    matching = {k: v for k, v in pretrained.items() if k in current and v.shape == current[k].shape}
    current.update(matching)
    model.load_state_dict(current)
    return model


def finetune(model, basis):
    for p in model.backbone.parameters():
        p.requires_grad = False
    opt = torch.optim.Adam(model.fc.parameters(), 1e-2)
    for step in range(150):
        x, y = sample(64, basis)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0:
            print(step, loss.item())


torch.manual_seed(6)
basis = torch.randn(4, 20)
file = io.BytesIO()
pretrain(basis, file)
file.seek(0)
finetune(load_pretrained(Classifier(), file), basis)
