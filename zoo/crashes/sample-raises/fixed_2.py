# Sorts short messages into topics; two workers prepare the batches.
import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

random.seed(3)
torch.manual_seed(3)
TOPICS = {"sport": 0, "music": 1, "travel": 2}
WORDS = {
    "sport": ["goal", "team", "match", "score"],
    "music": ["song", "band", "tune", "stage"],
    "travel": ["train", "hotel", "beach", "map"],
}


class Messages(Dataset):
    def __init__(self, rows, topics):
        self.rows = rows
        self.topics = topics
        words = sorted({word for text, _ in rows for word in text.split()})
        self.vocabulary = {word: number for number, word in enumerate(words)}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        text, topic = self.rows[index]
        counts = torch.zeros(len(self.vocabulary))
        for word in text.split():
            counts[self.vocabulary[word]] += 1
        return counts, self.topics[topic]


rows = []
for number in range(240):
    topic = random.choice(list(WORDS))
    rows.append((" ".join(random.choices(WORDS[topic], k=4)), topic))
rows[171] = (" ".join(WORDS["sport"]), "sport")

dataset = Messages(rows, TOPICS)
loader = DataLoader(dataset, batch_size=16, shuffle=True, num_workers=2)
model = nn.Linear(len(dataset.vocabulary), 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for epoch in range(4):
    for counts, topic in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(counts), topic)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
