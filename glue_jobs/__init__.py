"""The data pipeline: Glue PySpark jobs over the objects of a bucket.

`listing/` reads a bucket as rows of one schema. `scanner/`, `backfill/` and `reconcile/` are the
jobs: `job.py` is the script that Glue runs (`run.start` parses arguments and makes the session),
the rest is DataFrame in, DataFrame out. `outbox/` sends their events to SQS, once. The whole folder
is shipped to every worker.
"""
