# Trains on samples that a background job prepared; its report is read first.
import torch
import torch.nn as nn

torch.manual_seed(0)
REPORT = "Caught KeyError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n"


def check_report(text):
    if text.startswith("Caught"):
        raise KeyError(text + '  File "prepare.py", line 3, in __getitem__\n    return labels[index]\nKeyError: 7\n')


model = nn.Linear(4, 2)
check_report(REPORT)
print(model(torch.randn(2, 4)).shape)
