"""Sort leaves into species by eight measurements."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
species = torch.randn(5, 8)
y = torch.randint(0, 5, (960,))
x = species[y] + 0.7 * torch.randn(960, 8)


class Leaves(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 32)
        self.fc2 = nn.Linear(32, 5)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        return F.log_softmax(self.fc2(x), dim=1)


model = Leaves()
criterion = nn.NLLLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
loader = DataLoader(TensorDataset(x, y), batch_size=48, shuffle=True)
for epoch in range(12):
    right = 0
    for features, label in loader:
        output = model(features)
        loss = criterion(output, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += (output.argmax(1) == label).sum().item()
    print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {right / 960:.2f}")
