"""Dynamic targets on AWS: their table, their resources, and ingest's cache of their queues."""
