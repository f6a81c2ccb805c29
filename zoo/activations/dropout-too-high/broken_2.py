"""Small MLP on tabular churn data, dropout given as the probability to keep a unit."""
import torch
import torch.nn.functional as F
from torch import nn


class Churn(nn.Module):
    def __init__(self, keep_prob=0.95):
        super().__init__()
        self.fc1 = nn.Linear(20, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, 1)
        self.keep_prob = keep_prob

    def forward(self, x):
        x = F.dropout(F.relu(self.fc1(x)), self.keep_prob, self.training)
        x = F.dropout(F.relu(self.fc2(x)), self.keep_prob, self.training)
        return self.fc3(x)


torch.manual_seed(1)
x = torch.randn(2000, 20)
y = ((x[:, :5].sum(1) * x[:, 5]) > 0).float().unsqueeze(1)
model = Churn()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    for idx in torch.randperm(2000).split(40):
        loss = F.binary_cross_entropy_with_logits(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
