# K-fold cross validation that re-creates model and optimizer per fold, ReduceLROnPlateau, early stopping, best checkpoint reload from a temp dir.
import json
import os
import tempfile

import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Subset, TensorDataset

SEED = 2024


def make_dataset():
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(480, 9)).astype(np.float32)
    price = 50 + 12 * X[:, 0] - 7 * X[:, 1] * (X[:, 2] > 0) + 5 * np.sin(X[:, 3] * 2) + rng.normal(0, 1, 480)
    mu, sd = price.mean(), price.std()
    return TensorDataset(torch.from_numpy(X), torch.from_numpy(((price - mu) / sd).astype(np.float32)).unsqueeze(1))


def kfold(n, k):
    idx = np.random.default_rng(SEED).permutation(n)
    folds = np.array_split(idx, k)
    for i in range(k):
        yield np.concatenate([f for j, f in enumerate(folds) if j != i]), folds[i]


def train_one_fold(fold, ds, tr, va, out):
    torch.manual_seed(SEED + fold)
    model = nn.Sequential(nn.Linear(9, 64), nn.ELU(), nn.Dropout(0.05), nn.Linear(64, 32), nn.ELU(), nn.Linear(32, 1))
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=1)
    criterion = nn.MSELoss()
    dl_tr = DataLoader(Subset(ds, tr.tolist()), batch_size=32, shuffle=True)
    dl_va = DataLoader(Subset(ds, va.tolist()), batch_size=256)
    best, wait, path = float("inf"), 0, os.path.join(out, f"fold{fold}.pt")

    def validate():
        model.eval()
        with torch.no_grad():
            return float(np.mean([criterion(model(x), y).item() for x, y in dl_va]))

    for epoch in range(12):
        model.train()
        running_loss = 0.0
        for inputs, targets in dl_tr:
            optimizer.zero_grad()
            loss = criterion(model(inputs), targets)
            loss.backward()
            optimizer.step()
            running_loss += loss.item()
        v = validate()
        scheduler.step(v)
        if epoch % 4 == 0:
            print(f"  fold {fold} epoch {epoch} train {running_loss / len(dl_tr):.4f} val {v:.4f} lr {optimizer.param_groups[0]['lr']:.1e}")
        if v < best:
            best, wait = v, 0
            torch.save({"epoch": epoch, "state": model.state_dict()}, path)
        else:
            wait += 1
            if wait >= 3:
                print(f"  fold {fold} early stop at epoch {epoch}")
                break
    ck = torch.load(path)
    model.load_state_dict(ck["state"])
    return validate(), ck["epoch"]


def main():
    ds = make_dataset()
    with tempfile.TemporaryDirectory() as out:
        scores = []
        for k, (tr, va) in enumerate(kfold(len(ds), 3)):
            mse, ep = train_one_fold(k, ds, tr, va, out)
            print(f"fold {k}: val mse {mse:.4f} (best epoch {ep})")
            scores.append(mse)
        with open(os.path.join(out, "cv.json"), "w") as f:
            json.dump({"mse": scores, "mean": float(np.mean(scores))}, f)
        print(f"CV mse {np.mean(scores):.4f} +- {np.std(scores):.4f}")


if __name__ == "__main__":
    main()
