"""Keep the best model seen on the validation part, test it at the end."""
import torch
from torch import nn

torch.manual_seed(5)
w = torch.randn(10, 1)


def make(n):
    x = torch.randn(n, 10)
    return x, x @ w + 1.5 * torch.randn(n, 1)


def mse(model, data):
    with torch.no_grad():
        return nn.functional.mse_loss(model(data[0]), data[1]).item()


train, valid, test = make(50), make(200), make(500)
model = nn.Sequential(nn.Linear(10, 128), nn.ReLU(), nn.Linear(128, 1))
opt = torch.optim.Adam(model.parameters(), 5e-3)
history = {"best": float("inf"), "state": None}
for epoch in range(80):
    for i in torch.randperm(50).split(10):
        opt.zero_grad()
        nn.functional.mse_loss(model(train[0][i]), train[1][i]).backward()
        opt.step()
    score = mse(model, valid)
    if score < history["best"]:
        history["best"], history["state"] = score, model.state_dict()
model.load_state_dict(history["state"])
print("best", history["best"], "restored", mse(model, valid), "test", mse(model, test))
