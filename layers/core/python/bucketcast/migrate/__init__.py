"""Migration from MinIO: its files become `bucketcast.toml` and `event add` commands.

`files` detects each file's format, and `export` or `notification` parses it into `parsed`. `merge`
applies the server's variables over stored settings as MinIO does; `render` writes the result.
`command` is `bucketcast import`. Nothing is dropped silently: a setting is converted, listed in
`left_out` with a reason, or an error that stops the import.
"""
