"""The state table: its partitions, counters and breakers."""
