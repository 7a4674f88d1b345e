"""Bucketcast: the bucket notifications of MinIO and Ceph RGW for Amazon S3."""
