"""Facts about an object that ingest reads from S3, where the record lacks them."""
