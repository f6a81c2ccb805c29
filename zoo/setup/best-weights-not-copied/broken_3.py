"""Early stopping as a callback object; polynomial features overfit a small noisy set."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best_loss, self.bad = patience, float("inf"), 0
        self.best_state = None

    def __call__(self, loss, model):
        if loss < self.best_loss:
            self.best_loss, self.bad = loss, 0
            self.best_state = {name: value.detach().cpu() for name, value in model.state_dict().items()}
        else:
            self.bad += 1
        return self.bad >= self.patience


def make(n):
    x = torch.randn(n, 12)
    return x, x[:, :1] - 0.5 * x[:, 1:2] + 0.8 * torch.randn(n, 1)


def evaluate(model, x, y):
    model.eval()
    with torch.inference_mode():
        value = nn.functional.mse_loss(model(x), y).item()
    model.train()
    return value


def fit():
    torch.manual_seed(13)
    train, (vx, vy) = make(60), make(200)
    model = nn.Sequential(nn.Linear(12, 128), nn.Tanh(), nn.Linear(128, 1))
    stopper = EarlyStopping(patience=15)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(100):
        for x, y in DataLoader(TensorDataset(*train), batch_size=15, shuffle=True):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        if stopper(evaluate(model, vx, vy), model):
            break
    model.load_state_dict(stopper.best_state)
    print(f"stopped after {epoch + 1}, best {stopper.best_loss:.3f}, restored {evaluate(model, vx, vy):.3f}")


fit()
