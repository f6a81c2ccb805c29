# Predict log-probabilities of rare events from event counts.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)
counts = torch.poisson(torch.full((1500, 9), 2.0))
log_prob = -0.3 * counts[:, :3].sum(dim=1, keepdim=True) - 0.5
data = DataLoader(TensorDataset((counts - 2) / 1.4, log_prob), batch_size=50, shuffle=True)


def block(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, n_out), nn.ReLU())


net = nn.Sequential(
    block(9, 40),
    block(40, 40),
    nn.Linear(40, 1),
)
optim = torch.optim.Adam(net.parameters(), lr=3e-3)
mse = nn.MSELoss()

for epoch in range(8):
    for x, y in data:
        optim.zero_grad()
        loss = mse(net(x), y)
        loss.backward()
        optim.step()
    print("epoch", epoch, "loss", loss.item())
