"""What ingest, the queues and dispatch share: envelopes, retries, retention, traces and alarms."""
