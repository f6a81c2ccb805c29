"""A GRU that wants time first gets batches with samples first."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(input_size=2, hidden_size=24)
        self.head = nn.Linear(24, 1)

    def forward(self, x):
        x = x.reshape(x.shape[1], x.shape[0], 2)
        _, last = self.rnn(x)
        return self.head(last[0])


torch.manual_seed(0)
steps = torch.randn(640, 12, 2)
total = steps[:, :, 0].mean(1, keepdim=True) * 3
loader = DataLoader(TensorDataset(steps, total), batch_size=32, shuffle=True)
model = Counter()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(8):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
