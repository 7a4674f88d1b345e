"""All calls of AWS: tables, secrets, deployments, buckets and their notifications."""
