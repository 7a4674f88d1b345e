"""Dead-letter queues: find, read, redrive and purge them."""
