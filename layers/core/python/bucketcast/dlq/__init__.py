"""Dead letters as people handle them: list, read, redrive, export and purge.

The pure part: `letter` is a message of a dead-letter queue and its content, `filters` chooses
letters and their events, `summary` counts them by reason, `repack` plans what a redrive sends and
what stays, and `backup` writes the file of a purge. `aws` finds the queues, reads them without
losing a message, and sends letters back. `command` is `bucketcast dlq`. Dead letters are made by
`delivery.dead_letters`.
"""
