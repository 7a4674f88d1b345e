"""The outbox: a job's messages, spooled first (`chunks`) and then sent to SQS (`sender`).

::

    FOLDER/chunks/…        Parquet; a row is a chunk: the messages of one SendMessageBatch
    FOLDER/done/PART/…     a checkpoint per chunk, written as soon as SQS accepted it

The chunks are fixed before the first is sent. So a job that is restarted in the same folder, or a
task that Spark retries, resumes where the last one stopped. Delivery is at least once: `send` says
when a chunk comes twice.
"""
