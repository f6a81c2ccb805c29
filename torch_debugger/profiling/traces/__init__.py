"""Traces of torch.profiler in files (`tensorboard_trace_handler`, `export_chrome_trace`), without torch."""
