"""Estimate the cost of a deployment before it exists, for `bucketcast cost`.

`prices` has AWS's prices with their dates and sources, `calls` the number of calls that an event
needs, and `estimate` turns a configuration and a load into the lines of a `bill`. `command` is
`bucketcast cost`.
"""
