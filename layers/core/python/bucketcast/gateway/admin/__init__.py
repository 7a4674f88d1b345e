"""MinIO's admin calls about notifications, for `mc admin`."""
