# Batches sentences of different lengths without padding them.
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Sentences(Dataset):
    def __init__(self, count):
        self.lengths = torch.randint(4, 9, (count,)).tolist()

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, index):
        return torch.randint(0, 50, (self.lengths[index],)), index % 2


loader = DataLoader(Sentences(64), batch_size=8, num_workers=1)
embedding, head = nn.Embedding(50, 8), nn.Linear(8, 2)
for tokens, label in loader:
    loss = nn.functional.cross_entropy(head(embedding(tokens).mean(1)), label)
    loss.backward()
print(loss.item())
