"""Bucketcast: the bucket notifications of MinIO and Ceph RGW for Amazon S3."""

__version__ = "1.0.0"
