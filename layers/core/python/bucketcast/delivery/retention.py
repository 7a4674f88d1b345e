"""How long an event may exist, and for how long what must outlive it is kept: each figure once.

::

    ingress queue ──► target's queue ──► dead letters ──► redriven: a new term ──► …
      13 of 14 days     13 of 14 days      14 days
    └──────────────────── LONGEST_LIFE_DAYS for a mirror ────────────────────┘
    └──────────────────────────── TOMBSTONE_DAYS ─────────────────────────────────┘

SQS counts a message's days from when it was sent, and drops it in silence when they are over.
"""

DAY_MS = 86_400_000
RETENTION_DAYS = 14
"""How long SQS keeps a message of any queue here: the longest that it can."""
TERM_DAYS = 13
"""How long one queue's function tries; then it moves what is left to the DLQ, with its reason.
The day up to `RETENTION_DAYS` is for that."""
DEAD_DAYS = 14
"""How long a dead letter waits for somebody: the longest that SQS can. A dead letter of ours is a
new message, so these are whole; one that SQS itself moved would keep the time it was sent at."""
LONGEST_LIFE_DAYS = 90
"""How long after it came an event may still change a mirror, its redrives included: three terms
with three times in the dead letters. A mirror refuses an older one, and `reconcile` repairs."""
TOMBSTONE_DAYS = LONGEST_LIFE_DAYS + RETENTION_DAYS
"""How long a mirror remembers a removal: longer than any older event can come. The fortnight on
top is for what an event waited before it came to us, at S3 or in MinIO's own queue."""
LISTING_DAYS = 14
"""How old a listing may be when the last event that is made from it is sent: such an event counts
as come when the listing was taken, and is to have terms left for a target that is down."""
MAX_RECEIVES = 1_000
"""After how often SQS itself moves a message to the dead letters: the most that it can count to."""
