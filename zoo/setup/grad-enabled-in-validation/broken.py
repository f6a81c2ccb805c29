"""Train an autoencoder and measure its error on held-out vectors after each epoch."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
basis = torch.randn(6, 40)
data = torch.randn(800, 6) @ basis + 0.1 * torch.randn(800, 40)
train_loader = DataLoader(TensorDataset(data[:560]), batch_size=35, shuffle=True)
test_loader = DataLoader(TensorDataset(data[560:]), batch_size=30)

encoder = nn.Sequential(nn.Linear(40, 32), nn.ReLU(), nn.Linear(32, 6))
decoder = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 40))
model = nn.Sequential(encoder, decoder)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(8):
    model.train()
    for (batch,) in train_loader:
        loss = nn.functional.mse_loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    error = 0.0
    for (batch,) in test_loader:
        error += nn.functional.mse_loss(model(batch), batch).item()
    print(f"epoch {epoch}: train {loss.item():.4f} test {error / len(test_loader):.4f}")
