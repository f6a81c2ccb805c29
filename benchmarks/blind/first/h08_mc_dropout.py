import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)


def f(x):
    return torch.sin(3 * x) + 0.3 * x


x_train = torch.cat([-2 + 1.5 * torch.rand(600, 1), 0.5 + 1.5 * torch.rand(600, 1)])
y_train = f(x_train) + 0.1 * torch.randn_like(x_train)
x_val = torch.cat([-2 + 1.5 * torch.rand(200, 1), 0.5 + 1.5 * torch.rand(200, 1)])
y_val = f(x_val) + 0.1 * torch.randn_like(x_val)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=40, shuffle=True)


class BayesianMLP(nn.Module):
    """Dropout is kept at prediction time, to sample from the posterior."""

    def __init__(self, p=0.05):
        super().__init__()
        self.l1, self.l2, self.l3 = nn.Linear(1, 64), nn.Linear(64, 64), nn.Linear(64, 2)
        self.drop = nn.Dropout(p)

    def forward(self, x):
        h = self.drop(torch.relu(self.l1(x)))
        h = self.drop(torch.relu(self.l2(h)))
        mean, log_var = self.l3(h).chunk(2, dim=1)
        return mean, log_var.clamp(-6, 3)


def nll(mean, log_var, y):
    return 0.5 * (log_var + (y - mean) ** 2 / log_var.exp()).mean()


def mc_predict(model, x, samples=30):
    model.eval()
    model.drop.train()
    with torch.no_grad():
        outs = torch.stack([model(x)[0] for _ in range(samples)])
    return outs.mean(0), outs.std(0)


model = BayesianMLP()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(1, 26):
    model.train()
    for x, y in loader:
        opt.zero_grad()
        loss = nll(*model(x), y)
        loss.backward()
        opt.step()
    if epoch % 5 == 0:
        mean, _ = mc_predict(model, x_val)
        rmse = (mean - y_val).pow(2).mean().sqrt()
        print(f"epoch {epoch}: nll {loss.item():.3f} val rmse {rmse:.3f}")

_, inside = mc_predict(model, x_val)
_, outside = mc_predict(model, torch.linspace(3.5, 5, 100).unsqueeze(1))
print(f"uncertainty inside {inside.mean():.3f} outside {outside.mean():.3f}")
