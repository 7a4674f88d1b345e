"""Dynamic targets: created by a call instead of a deploy.

Such a target has its own queue and dead-letter queue, an event source mapping to the function of
its kind, its settings in the state table and its secrets in Secrets Manager. `validation` checks
its settings, `aws` creates and removes it with its resources, `command` is `bucketcast target`,
`api` is `mc admin config` with the lines that `kvs` parses.
"""
