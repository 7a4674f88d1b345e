"""Topics on AWS: an item each beside the run-time targets, and what is made for them."""
