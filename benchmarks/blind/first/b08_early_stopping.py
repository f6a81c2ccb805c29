import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)

DIM = 30
w_true = torch.randn(DIM) * (torch.arange(DIM) < 5)


def sample(n):
    x = torch.randn(n, DIM)
    p = torch.sigmoid(2 * (x @ w_true))
    return x, torch.bernoulli(p)


x_tr, y_tr = sample(300)
x_va, y_va = sample(400)
x_te, y_te = sample(1000)
mu, sd = x_tr.mean(0), x_tr.std(0)
x_tr, x_va, x_te = [(t - mu) / sd for t in (x_tr, x_va, x_te)]
loader = DataLoader(TensorDataset(x_tr, y_tr), batch_size=20, shuffle=True)

model = nn.Sequential(nn.Linear(DIM, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


def evaluate(x, y):
    model.eval()
    with torch.no_grad():
        out = model(x).squeeze(1)
        return criterion(out, y).item(), ((out > 0).float() == y).float().mean().item()


best_loss, best_state, best_epoch, bad = float("inf"), None, -1, 0
patience = 25
for epoch in range(60):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb).squeeze(1), yb)
        loss.backward()
        optimizer.step()
    val_loss, val_acc = evaluate(x_va, y_va)
    if val_loss < best_loss:
        best_loss, best_epoch, bad = val_loss, epoch, 0
        best_state = model.state_dict()
    else:
        bad += 1
        if bad >= patience:
            print(f"early stop at epoch {epoch}")
            break
    if epoch % 5 == 0:
        print(f"epoch {epoch}: train {loss.item():.3f} val {val_loss:.3f} acc {val_acc:.3f}")

model.load_state_dict(best_state)
val_loss, _ = evaluate(x_va, y_va)
test_loss, test_acc = evaluate(x_te, y_te)
print(f"best epoch {best_epoch} (val {best_loss:.3f}); restored model val {val_loss:.3f}")
print(f"test loss {test_loss:.3f} acc {test_acc:.3f}")
