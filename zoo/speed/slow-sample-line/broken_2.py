# bags of words: the collate function counts them word by word
import random

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

random.seed(0)
torch.manual_seed(0)
WORDS = 40
texts = []
for _ in range(256):
    topic = random.randrange(3)
    often = range(10 * topic, 10 * topic + 10)
    words = [random.choice(often) if random.random() < 0.3 else random.randrange(WORDS) for _ in range(2000)]
    texts.append((words, topic))


def count(words):
    return [words.count(each) for each in range(WORDS)]


def collate(samples):
    counts = [count(words) for words, _ in samples]
    return torch.tensor(counts, dtype=torch.float32) / 60, torch.tensor([topic for _, topic in samples])


loader = DataLoader(texts, batch_size=16, shuffle=True, collate_fn=collate)
model = torch.nn.Linear(WORDS, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for epoch in range(10):
    for counts, topics in loader:
        loss = F.cross_entropy(model(counts), topics)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, round(loss.item(), 4))
