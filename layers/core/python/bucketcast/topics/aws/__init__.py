"""Topics on AWS: their items beside the run-time targets, and their resources."""
