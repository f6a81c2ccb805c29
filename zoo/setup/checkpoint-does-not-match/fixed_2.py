# Fine-tune a pretrained encoder: the attribute was renamed since the checkpoint was written.
import torch
from torch import nn


class OldNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv1d(1, 12, 5), nn.ReLU(), nn.Conv1d(12, 12, 5), nn.ReLU())
        self.head = nn.Linear(12, 3)

    def forward(self, x):
        return self.head(self.encoder(x.unsqueeze(1)).mean(dim=2))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv1d(1, 12, 5), nn.ReLU(), nn.Conv1d(12, 12, 5), nn.ReLU())
        self.head = nn.Linear(12, 3)

    def forward(self, x):
        return self.head(self.backbone(x.unsqueeze(1)).mean(dim=2))


def waves(n):
    kind = torch.randint(0, 3, (n,))
    t = torch.linspace(0, 1, 40)
    return torch.sin((4 + 6 * kind[:, None]) * t + 6 * torch.rand(n, 1)) + 0.1 * torch.randn(n, 40), kind


class Trainer:
    def __init__(self, model, lr):
        self.model, self.optimizer = model, torch.optim.Adam(model.parameters(), lr=lr)

    def run(self, steps):
        for step in range(steps):
            x, kind = waves(32)
            loss = nn.functional.cross_entropy(self.model(x), kind)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 50 == 0:
                print(type(self.model).__name__, step, round(loss.item(), 4))


def main():
    torch.manual_seed(5)
    old = OldNet()
    Trainer(old, 5e-3).run(150)
    weights = {key: value.clone() for key, value in old.state_dict().items()}
    net = Net()
    net.load_state_dict({key.replace("encoder.", "backbone."): value for key, value in weights.items()})
    Trainer(net, 1e-3).run(101)


main()
