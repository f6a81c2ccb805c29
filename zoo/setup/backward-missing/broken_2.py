# Two clusters, logistic regression, plain loop.
import torch

torch.manual_seed(8)
labels = (torch.rand(400) < 0.5).float()
points = torch.randn(400, 3) + 2 * labels[:, None]

classifier = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(classifier.parameters(), lr=0.5)
loss_fn = torch.nn.BCEWithLogitsLoss()

for i in range(200):
    opt.zero_grad()
    picked = torch.randint(0, 400, (40,))
    error = loss_fn(classifier(points[picked]).squeeze(1), labels[picked])
    error.backward
    opt.step()
    if i % 40 == 0:
        print(i, error.item())
