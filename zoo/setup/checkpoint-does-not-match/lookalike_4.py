"""A new head on a pretrained body: what fits by name and shape is taken over, the rest stays new."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 32), nn.ReLU())
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        return self.head(self.body(x))


def fit(model, rule, steps):
    opt = torch.optim.Adam(model.parameters(), 5e-3)
    for _ in range(steps):
        x = torch.randn(64, 12)
        loss = nn.functional.cross_entropy(model(x), (x @ rule).argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


torch.manual_seed(7)
rule = torch.randn(12, 6)
old = Net(6)
print("pretrained", fit(old, rule, 120))
pretrained = old.state_dict()
model = Net(3)
current = model.state_dict()
fitting = {key: value for key, value in pretrained.items() if key in current and value.shape == current[key].shape}
current.update(fitting)
model.load_state_dict(current)
print("fine-tuned", fit(model, rule[:, :3], 120))
