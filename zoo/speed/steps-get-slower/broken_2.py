"""A tagger of sequences; its accuracy so far is computed after every step from all predictions that were made."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)
tags = torch.randint(0, 6, (200,))
tokens = torch.randint(0, 200, (3840, 16))
loader = DataLoader(TensorDataset(tokens, tags[tokens]), batch_size=64, shuffle=True)

model = nn.Sequential(nn.Embedding(200, 32), nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 6))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
predicted, true = [], []

for epoch in range(6):
    for x, y in loader:
        output = model(x)
        loss = criterion(output.flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        predicted.extend(output.argmax(2).flatten().tolist())
        true.extend(y.flatten().tolist())
        accuracy = float(np.mean(np.array(predicted) == np.array(true)))
    print(f"epoch {epoch}: accuracy so far {accuracy:.3f}, loss {loss.item():.3f}")
