"""How a run's result looks: terminal, Markdown, JSON; no torch, and no opinion on what is wrong."""
