"""Linear regression by gradient descent, as in the GPU tutorial."""
import torch
import torch.nn as nn

torch.manual_seed(0)
true_weight = torch.randn(8, 1)
inputs = torch.randn(400, 8)
targets = inputs @ true_weight + 0.05 * torch.randn(400, 1)

model = nn.Linear(8, 1).to("cuda" if torch.cuda.is_available() else "cpu")
place = next(model.parameters()).device
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for step in range(120):
    prediction = model(inputs.to(place))
    loss = nn.functional.mse_loss(prediction, targets.to(place))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
