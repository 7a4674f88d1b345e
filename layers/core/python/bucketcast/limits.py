"""Every figure of delivery, once: how long, how often, how large, and when somebody is told.

::

    ingress queue ──► target's queue ──► dead letters ──► redriven: a new term ──► …
      13 of 14 days     13 of 14 days      14 days
    └──────────────────── LONGEST_LIFE_DAYS for a mirror ────────────────────┘
    └──────────────────────────── TOMBSTONE_DAYS ─────────────────────────────────┘

SQS counts a message's days from when it was sent, and drops it in silence when they are over. This
file imports nothing of ours: `functions.startup` reads it where the package is missing.
"""

from typing import Any

DAY = 86_400
DAY_MS = DAY * 1_000

# How long
RETENTION_DAYS = 14
"""How long SQS keeps a message of any queue here: the longest that it can."""
TERM_DAYS = 13
"""How long one queue's function tries; then it moves what is left to the DLQ, with its reason.
The day up to `RETENTION_DAYS` is for that."""
TERM_MS = TERM_DAYS * DAY_MS
LAST_CALL_MS = (TERM_DAYS + RETENTION_DAYS) * DAY_MS // 2
"""Half of the day between the end of the term and SQS' dropping a message that began it."""
DEAD_DAYS = 14
"""How long a dead letter waits for somebody: the longest that SQS can. A dead letter of ours is a
new message, so these are whole; one that SQS itself moved would keep the time it was sent at."""
LONGEST_LIFE_DAYS = 90
"""How long after it came an event may still change a mirror, its redrives included: three terms
with three times in the dead letters. A mirror refuses an older one, and `reconcile` repairs."""
TOMBSTONE_DAYS = LONGEST_LIFE_DAYS + RETENTION_DAYS
"""How long a mirror remembers a removal: longer than any older event can come. The fortnight on
top is for what an event waited before it came to us, at S3 or in MinIO's own queue."""
ONCE_DAYS = 1
"""How long SQS keeps a message that is tried once: what nobody has tried for so long is lost, and
was to be."""
LISTING_DAYS = 14
"""How old a listing may be when the last event that is made from it is sent: such an event counts
as come when the listing was taken, and is to have terms left for a target that is down."""

# How often
MAX_RECEIVES = 1_000
"""After how often SQS itself moves a message to the dead letters: the most that it can count to."""
RENEW_AFTER = MAX_RECEIVES // 2
"""After so many receives a message is sent again: as many are left for a function that crashes."""
LAST_RECEIVES = 3
"""How often a message is given to a function that has never yet said what became of it, once its
term is over; and one that is tried once, at all."""

# Pauses, in seconds
LONGEST_DELAY = 900
"""The longest for which SQS keeps a new message back; also the longest pause."""
SHARE = 6
"""What waits is looked at again after this part of the time that it has waited for."""
LONGEST_IN_ORDER = 1_300
"""The longest pause of what waits in order: so its receives, which nothing can reset there, last
for its term, with some left for a function that crashes."""
LONGEST_OUTAGE_PAUSE = 300
"""A target that is away is tried, and what waits for it comes back, at least so often."""
LONGEST_PAUSED = 60
"""So long after a paused target is resumed, its waiting messages come back at the latest."""
THROTTLED = 30
"""What a queue hides a message for beyond its function's timeout: for calls that are throttled."""
TIMEOUTS_IN_ORDER = 6
"""The same of a queue that keeps its order, in timeouts of the function."""
TIMEOUTS_ONCE = 6
"""The same of a queue whose messages are tried once."""
VISIBILITY = 15
"""After these a message that a killed function had is seen again; longer each time."""
LONGEST_VISIBILITY = 300
FIRST_BEAT = 2.0
"""What is settled sooner makes no call to stay in flight."""
BEAT = 5.0
BEAT_CALL = 0.1
"""What one call may take, of a function with little of a processor and much to do."""
LAST_BEAT = 5.0
"""For how long a call that is being made is waited for, once all is settled."""
TRUSTED_MS = 1_000
"""For how long a target is taken to answer because it did when its breaker was read last."""

# A function's time, in seconds
TIMEOUT = 60
"""Of one that sends, unless another is configured."""
INGEST_TIMEOUT = 30
SPARE = 5.0
"""What a function needs, after its last batch, to report what was not sent."""
TO_SEND_BACK = 1.0
"""What is left for the answer when nothing is sent back to a queue any more."""
TO_POSTPONE = 3.0
"""What is left for the answer and the counts when no message is postponed any more."""
TO_COUNT = 1.0
"""What counting leaves: a function that is killed does all its work again."""
TO_SEND = 10.0
"""What ingest leaves of its time, when it asks S3, to send what it routed."""
FOR_THE_FIRST = 2.0
"""What something else may take before the first batch without being in its way."""
LONGEST_SEND = 40.0
"""What a batch to a target takes that cannot be made, and so cannot say."""

# Calls of AWS
CALLS: dict[str, Any] = {
    "connect_timeout": 2,
    "read_timeout": 5,
    "retries": {"mode": "standard", "total_max_attempts": 2},
}
"""The limits of each call that a function makes, as botocore's `Config` takes them. What is not
answered is retried with its message; the second try is for a connection that was lost while the
function was frozen."""

# How much at once
MEMORY = 512
"""MB of a function that sends, unless another is configured."""
INGEST_MEMORY = 512
"""MB of ingest."""
MAX_CONCURRENCY = 4
"""Batches of one target at once: one that hangs takes no more of the account's calls."""
INGEST_RESERVED = 20
"""Calls of ingest at once: some 5,000 messages of S3's a second."""
BATCH = 10
"""Messages that a function is called with: the most that Lambda takes without a window."""
WINDOW = 1
"""Seconds for which messages are gathered: below that Lambda takes no more than `BATCH`."""
GATHERED = 10_000
"""Messages that a function which sends is called with after a window."""
INGEST_GATHERED = 1_000
"""The same of ingest, where one event may go to many targets."""
TOGETHER = 10
"""Messages in one call of SQS."""
POSTPONED = 100
"""How many messages are postponed before the time is looked at."""
MESSAGE_BYTES = 1_048_576
"""Of a message, and of a call, with attributes."""
MAX_EVENTS = 1_000
"""One message is the unit of a retry, and of what a function holds in memory."""
MAX_LISTED = 8_388_608
"""So many bytes the records of one message have together, unless it is a single event."""
MAX_UNPACKED = 4 * MAX_LISTED
"""A message that would unpack to more is not opened: it could end the function, again and again."""
COMPRESS_PAST_BYTES = 4_096
"""A body of more is compressed."""
REASON_LENGTH = 1_000
"""Characters of an error's text that a message carries."""
CHUNK_EVENTS = 5_000
CHUNK_BYTES = 16_777_216
"""So many events, or so much of records, are in memory at once, beside the messages themselves."""
INGEST_CHUNK_BYTES = 1_048_576
"""The same for ingest, where one event may go to many targets."""
MERGED_EVENTS = 500
"""A message of so many events is not opened to be merged with others."""
LISTENER_EVENTS = 100
"""Events in a message for a listener: whoever streams them holds a few messages of each."""
LISTENERS_TOGETHER = 8
"""Listeners that are sent to at the same time."""
GROWS_AFTER = 16
"""So many batches that a target took, one after the other, before it is given twice as much again:
one that gets no answer in time is halved."""
QUEUE_LIMIT = 100_000
"""How many messages may wait where a target discards what comes beyond, and sets no `queue_limit`:
MinIO's default."""

# When somebody is told
OLDEST = "OldestEventAge"
"""The metric that a function writes of what has waited for long."""
WAITED = 60
"""Seconds from which on a function writes it."""
TOO_OLD = 900
"""Seconds after which an alarm fires."""
ALARM_MINUTES = 30
"""For how long an alarm looks back: what waits comes back within 15 minutes, or 22 in order. Over a
shorter time it would go off and on again with each try."""
NEARLY_DROPPED_DAYS = 10
LATE_SECONDS = NEARLY_DROPPED_DAYS * DAY
"""The events of a paused target are meant to wait; their age is reported from here on."""
