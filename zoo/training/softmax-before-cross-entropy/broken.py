# Ten-class digit-like classification with a plain MLP.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

prototypes = torch.rand(10, 64)
labels = torch.randint(0, 10, (2048,))
images = prototypes[labels] + 0.25 * torch.randn(2048, 64)
train_loader = DataLoader(TensorDataset(images, labels), batch_size=64, shuffle=True)

model = nn.Sequential(
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Linear(64, 10),
    nn.Softmax(dim=1),
)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(8):
    correct = 0
    for x, y in train_loader:
        optimizer.zero_grad()
        out = model(x)
        loss = loss_fn(out, y)
        loss.backward()
        optimizer.step()
        correct += (out.argmax(dim=1) == y).sum().item()
    print(f"Epoch {epoch + 1}/8  loss: {loss.item():.4f}  accuracy: {correct / len(labels):.3f}")
