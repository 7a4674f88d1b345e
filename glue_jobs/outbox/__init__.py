"""The outbox: a job's messages, written to a spool first and then sent to SQS, once.

::

    FOLDER/chunks/…        Parquet; a row is a chunk: the messages of one SendMessageBatch
    FOLDER/finished.json   the totals; written last
    FOLDER/done/PART/…     a checkpoint per chunk, written as soon as SQS accepted it

The chunks are fixed before the first is sent. So a job that is restarted in the same folder, or a
task that Spark retries, resumes where the last one stopped.
"""

from glue_jobs.outbox.checkpoints import events as sent
from glue_jobs.outbox.chunks import MESSAGES, Message, spool
from glue_jobs.outbox.sender import send

__all__ = ["MESSAGES", "Message", "send", "sent", "spool"]
