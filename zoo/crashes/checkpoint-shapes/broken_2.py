"""Continue a bag-of-words model on new text."""
import torch
from torch import nn

torch.manual_seed(0)


def train(model, size, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for step in range(steps):
        words = torch.randint(0, size, (64, 6))
        loss = nn.functional.cross_entropy(model(words).mean(1), (words[:, 0] % 2))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


old = nn.Sequential(nn.Embedding(40, 16), nn.Linear(16, 2))
train(old, 40, 30)
saved = {name: value.clone() for name, value in old.state_dict().items()}

model = nn.Sequential(
    nn.Embedding(30, 16),
    nn.Linear(16, 2),
)
model.load_state_dict(saved)
print("loss", train(model, 30, 60))
