# A recurrent model reads one long series in order, epoch after epoch, and carries its state along.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
time = torch.arange(700.0)
series = torch.sin(0.2 * time) + 0.5 * torch.sin(0.05 * time)
chunks = series[:-1].view(699, 1)[:690].view(69, 10, 1)
following = series[1:691].view(69, 10, 1)
loader = DataLoader(TensorDataset(chunks, following), batch_size=1, shuffle=False)
rnn, head = nn.GRU(1, 24, batch_first=True), nn.Linear(24, 1)
optimizer = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=5e-3)
for epoch in range(4):
    state = None
    for x, y in loader:
        out, state = rnn(x, state)
        loss = nn.functional.mse_loss(head(out), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state = state.detach()
    print(f"{epoch}: {loss.item():.4f}")
