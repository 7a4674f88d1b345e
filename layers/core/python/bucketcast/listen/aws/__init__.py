"""Listeners on AWS: their state and queues, ingest's cache of them, and AWS credentials."""
