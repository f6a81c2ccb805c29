"""Attention pooling over short token sequences with padding."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOCAB, DIM, CLASSES = 50, 16, 3
embedding = nn.Embedding(VOCAB, DIM)
scorer = nn.Linear(DIM, 1)
classifier = nn.Linear(DIM, CLASSES)
parameters = [*embedding.parameters(), *scorer.parameters(), *classifier.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-2)


def make_batch(n):
    labels = torch.randint(0, CLASSES, (n,))
    tokens = torch.randint(CLASSES, VOCAB, (n, 12))
    tokens[torch.arange(n), torch.randint(0, 6, (n,))] = labels
    lengths = torch.randint(6, 13, (n,))
    return tokens, lengths, labels


def train_step(tokens, lengths, labels):
    padding = torch.arange(tokens.size(1)) >= lengths.unsqueeze(1)
    vectors = embedding(tokens)
    weights = torch.softmax(scorer(vectors).squeeze(-1), dim=1)
    weights = weights.clone()
    weights[padding] = 0
    pooled = (weights.unsqueeze(-1) * vectors).sum(dim=1)
    loss = F.cross_entropy(classifier(pooled), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


for step in range(150):
    value = train_step(*make_batch(64))
    if step % 25 == 0:
        print(f"step {step} loss {value:.3f}")
