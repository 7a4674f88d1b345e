"""MinIO's admin calls, as far as notifications go: what `mc admin` sends, and its answers."""
