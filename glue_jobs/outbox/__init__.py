"""The outbox: what a job has to send, written down first and then sent to SQS, once.

::

    FOLDER/chunks/…        Parquet; a row is a chunk: what one call of SendMessageBatch takes
    FOLDER/finished.json   how much it is; there once all of it is written
    FOLDER/done/PART/…     a mark a chunk, written as soon as SQS took it (`marks`)

The chunks are fixed before the first of them goes. So a job that is started again in the same
folder, or a task that Spark tries again, goes on where the last one stopped.
"""

from glue_jobs.outbox.marks import events as sent
from glue_jobs.outbox.sending import OutboxError, send
from glue_jobs.outbox.spooling import MESSAGES, Message, spool

__all__ = ["MESSAGES", "Message", "OutboxError", "send", "sent", "spool"]
