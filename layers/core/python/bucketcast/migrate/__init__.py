"""Migration from MinIO and Ceph: their files become `bucketcast.toml` and `event add` commands.

`files` detects each file's format and parses it, `merge` applies variables over stored settings as
a MinIO server does, `render` writes the result. Nothing is dropped silently: a setting is
converted, listed in `left_out` with a reason, or an error that stops the import.
"""
