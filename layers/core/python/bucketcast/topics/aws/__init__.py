"""Topics on AWS: their items beside the dynamic targets, and their resources."""
