"""A new classification layer of the old size takes the place of the old one, under another name."""
import torch
from torch import nn

torch.manual_seed(3)
old = nn.ModuleDict({"body": nn.Linear(6, 32), "fc": nn.Linear(32, 3)})
new = nn.ModuleDict({"body": nn.Linear(6, 32), "classifier": nn.Linear(32, 3)})
new.load_state_dict({key: value.clone() for key, value in old.state_dict().items()}, strict=False)
optimizer = torch.optim.SGD(new.parameters(), lr=0.1)
centers = torch.randn(3, 6)
for step in range(200):
    labels = torch.randint(0, 3, (32,))
    x = centers[labels] + 0.5 * torch.randn(32, 6)
    loss = nn.functional.cross_entropy(new["classifier"](torch.relu(new["body"](x))), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
