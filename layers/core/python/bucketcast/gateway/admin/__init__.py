"""MinIO's admin calls about notifications, for `mc admin`, and its metrics.

`routes` has all routes. `info` answers `mc admin info`, `metrics` writes MinIO's and Ceph's
metrics, `prometheus_token` checks the token that reads them, and `encryption` decrypts and encrypts
bodies as MinIO's clients do. The calls that change targets are `dynamic_targets.api`.
"""
