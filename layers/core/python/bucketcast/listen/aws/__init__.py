"""Listeners on AWS: their items in the state table, ingest's cache, and the gateway's login."""
