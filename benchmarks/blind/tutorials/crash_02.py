"""Fine-tuning: the backbone stays frozen for the first epochs; gradient norms are reported."""
import torch
from torch import nn
import torch.nn.functional as F


class Backbone(nn.Module):
    def __init__(self, dim=20, width=64):
        super().__init__()
        self.fc1 = nn.Linear(dim, width)
        self.fc2 = nn.Linear(width, width)

    def forward(self, x):
        return torch.relu(self.fc2(torch.relu(self.fc1(x))))


class Classifier(nn.Module):
    def __init__(self, backbone, classes=4):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(64, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def freeze(module, frozen=True):
    for p in module.parameters():
        p.requires_grad_(not frozen)


def grad_report(model):
    return {name: p.grad.norm().item() for name, p in model.named_parameters()}


def make_data(n=1600):
    centres = torch.randn(4, 20) * 1.5
    y = torch.randint(0, 4, (n,))
    return centres[y] + torch.randn(n, 20), y


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    x, y = make_data()
    model = Classifier(Backbone())
    freeze(model.backbone)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(6):
        if epoch == 3:
            freeze(model.backbone, False)
        for ids in torch.randperm(len(x)).split(40):
            loss = F.cross_entropy(model(x[ids]), y[ids])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        norms = grad_report(model)
        biggest = max(norms, key=norms.get)
        print(f"epoch {epoch} loss {loss.item():.3f} biggest gradient {biggest} {norms[biggest]:.4f}")


if __name__ == "__main__":
    main()
