"""Fine-tune a text classifier from the weights of its first version."""
import io

import torch
from torch import nn


class FirstVersion(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.fc = nn.Linear(16, 4)

    def forward(self, tokens):
        return self.fc(self.embedding(tokens).mean(1))


class TextClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.classifier = nn.Linear(16, 4)

    def forward(self, tokens):
        return self.classifier(self.embedding(tokens).mean(1))


def batch():
    labels = torch.randint(0, 4, (32,))
    tokens = torch.randint(0, 10, (32, 8)) + 10 * labels[:, None]
    return tokens, labels


def train(model, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for step in range(steps):
        tokens, labels = batch()
        loss = nn.functional.cross_entropy(model(tokens), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
first = FirstVersion()
train(first, 20)
file = io.BytesIO()
torch.save(first.state_dict(), file)
file.seek(0)

model = TextClassifier()
weights = torch.load(file)
model.load_state_dict(weights)
print("loss", train(model, 40))
