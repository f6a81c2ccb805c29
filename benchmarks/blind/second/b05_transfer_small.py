"""Transfer a tabular encoder trained on a large source set to a tiny target set; both heads share one encoder."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)

N_IN, N_LAT = 40, 6
mix = torch.randn(N_LAT, N_IN)


def world(n, head, noise=0.8):
    z = torch.randn(n, N_LAT)
    x = torch.tanh(z @ mix * 0.6) + noise * torch.randn(n, N_IN)
    return x, z @ head


heads_src = torch.randn(N_LAT, 12) / N_LAT ** 0.5
head_tgt = torch.randn(N_LAT, 1)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(N_IN, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8))

    def forward(self, x):
        return self.net(x)


class Classifier(nn.Module):
    def __init__(self, backbone, n_out):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(8, n_out)

    def forward(self, x):
        return self.head(self.backbone(x))


def fit(model, x, y, loss_fn, epochs, bs, lr, every):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    dl = DataLoader(TensorDataset(x, y), batch_size=bs, shuffle=True)
    for ep in range(epochs):
        model.train()
        run = 0.0
        for xb, yb in dl:
            opt.zero_grad()
            l = loss_fn(model(xb), yb)
            l.backward()
            opt.step()
            run += l.item()
        if (ep + 1) % every == 0:
            print(f"  epoch {ep + 1:3d} loss {run / len(dl):.4f}")


print("pretraining")
xs, ys = world(8000, heads_src)
pre = Classifier(Encoder(), 12)
fit(pre, xs, ys, nn.MSELoss(), epochs=4, bs=80, lr=3e-3, every=1)

xq, yq = world(1000, heads_src)


def source_mse():
    pre.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(pre(xq), yq).item()


print(f"source test mse {source_mse():.3f}")
print("transfer")
xt, yt = world(32, head_tgt)
xv, yv = world(2000, head_tgt)
yv = (yv > 0).float()
model = Classifier(pre.backbone, 1)
model.backbone.requires_grad = False
fit(model, xt, (yt > 0).float(), nn.BCEWithLogitsLoss(), epochs=60, bs=16, lr=3e-2, every=20)

model.eval()
with torch.no_grad():
    acc = ((model(xv) > 0).float() == yv).float().mean().item()
    nll = nn.functional.binary_cross_entropy_with_logits(model(xv), yv).item()
print(f"target test acc {acc:.3f} nll {nll:.3f}; source model still served from the same encoder, mse {source_mse():.3f}")
