"""Moving in from MinIO: its files become `bucketcast.toml`, its rules the commands that make them.

`files` reads what users have (a reader a format, told apart by content), `settled` joins it as a
MinIO server would, `written` puts it into words. Nothing is dropped without being said: it is
taken over, or in `left_out` with its reason, or a mistake that stops the whole.
"""
