"""What the page's projector shows of an embedding."""
