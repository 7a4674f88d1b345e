"""Migration from MinIO and Ceph: their files become `bucketcast.toml` and `event add` commands.

MinIO: `files` detects each file's format, and `export`, `environment` or `notification` parses it
into `parsed`. `merge` applies variables over stored settings as a MinIO server does, with the names
in `minio_keys`; `render` writes the result. Ceph: `ceph` parses topics and notifications of RGW.
`command` is `bucketcast import`. Nothing is dropped silently: a setting is converted, listed in
`left_out` with a reason, or an error that stops the import.
"""
