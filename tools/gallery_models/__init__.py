"""Small models, trained in seconds on things drawn here, always the same: what the gallery looks into."""
