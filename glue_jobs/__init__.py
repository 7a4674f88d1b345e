"""The data pipeline: Glue PySpark jobs over the objects of a bucket.

`listing/` reads a bucket as rows of one schema, `scanner/`, `backfill/` and `reconcile/` are a job
each (`job.py` parses arguments and makes the session; the rest is DataFrame in, DataFrame out), and
`outbox/` sends their events to SQS, once. The whole folder is shipped to every worker.
"""
