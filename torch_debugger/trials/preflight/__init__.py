"""The pre-flight: a model, its batch, its loss and its optimizer tried on purpose before a training begins."""
