import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(31)
D = 24
rot = torch.linalg.qr(torch.randn(D, D))[0]


def source_task(n):
    x = torch.randn(n, D)
    y = (x[:, 0] * x[:, 1] > 0).long() + 2 * (x[:, 2] > 0).long()
    return x, y


def target_task(n):
    x = torch.randn(n, D)
    z = x @ rot
    y = (z[:, 0] * z[:, 1] > 0).long() + 2 * (z[:, 2] - z[:, 3] > 0).long()
    return x, y


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.block1 = nn.Sequential(nn.Linear(D, 64), nn.ReLU())
        self.block2 = nn.Sequential(nn.Linear(64, 48), nn.ReLU())

    def forward(self, x):
        return self.block2(self.block1(x))


class FineTuner(nn.Module):
    def __init__(self, encoder, classes):
        super().__init__()
        self.encoder = encoder
        self.classifier = nn.Linear(48, classes)

    def forward(self, x):
        return self.classifier(self.encoder(x))

    def freeze_encoder(self):
        for p in self.encoder.parameters():
            p.requires_grad = False

    def unfreeze_encoder(self):
        for layer in self.encoder.children():
            layer.requires_grad = True


def loop(model, opt, x, y, bs=64):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x)).split(bs):
        opt.zero_grad()
        loss = F.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    return total / len(x)


def main():
    encoder = Encoder()
    pretrain = FineTuner(encoder, 4)
    opt = torch.optim.Adam(pretrain.parameters(), lr=3e-3)
    xs, ys = source_task(2000)
    for _ in range(5):
        loop(pretrain, opt, xs, ys)

    model = FineTuner(encoder, 4)
    xt, yt = target_task(3000)
    xv, yv = target_task(600)
    model.freeze_encoder()
    opt = torch.optim.Adam([
        {"params": model.encoder.parameters(), "lr": 2e-3},
        {"params": model.classifier.parameters(), "lr": 4e-3},
    ])
    for epoch in range(10):
        if epoch == 2:
            model.unfreeze_encoder()
            print("encoder unfrozen")
        loss = loop(model, opt, xt, yt)
        model.eval()
        with torch.no_grad():
            acc = (model(xv).argmax(1) == yv).float().mean().item()
        print(f"epoch {epoch}: loss {loss:.4f} val acc {acc:.3f}")


if __name__ == "__main__":
    main()
