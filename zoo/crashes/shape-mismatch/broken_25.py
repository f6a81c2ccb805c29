"""A layer of our own with normalised weights, for four kinds of signals."""
import torch
import torch.nn as nn


class NormedLinear(nn.Linear):
    def __init__(self, in_features, out_features, scale=4.0):
        super().__init__(in_features, out_features, bias=False)
        self.scale = scale

    def forward(self, x):
        return self.scale * super().forward(nn.functional.normalize(x, dim=-1))


class SignalNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(16, 64)
        self.output = NormedLinear(32, 4)

    def forward(self, x):
        x = torch.relu(self.hidden(x))
        return self.output(x)


torch.manual_seed(19)
prototypes = torch.randn(4, 16)
model = SignalNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(80):
    labels = torch.randint(0, 4, (32,))
    x = prototypes[labels] + torch.randn(32, 16)
    loss = nn.functional.cross_entropy(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
