"""Every figure of delivery, once: times, tries, sizes and alarms.

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

# Days
RETENTION_DAYS = 14
"""SQS keeps a message of any queue for so long: its maximum."""
TERM_DAYS = 13
"""A queue's function tries for so long; then it dead-letters the rest, with its reasons. The day up
to `RETENTION_DAYS` is for that."""
TERM_MS = TERM_DAYS * DAY_MS
LAST_CALL_MS = (TERM_DAYS + RETENTION_DAYS) * DAY_MS // 2
"""The middle of the day between the end of a term and the drop of its first message by SQS."""
DEAD_DAYS = 14
"""SQS keeps a dead letter for so long: its maximum. A dead letter of ours is a new message, so it
has all these days; one that SQS itself moved would keep its old time of sending."""
LONGEST_LIFE_DAYS = 90
"""An event may change a mirror for so long after it happened, redrives included: three terms with
three stays in the dead letters. A mirror refuses an older one, and `reconcile` repairs."""
TOMBSTONE_DAYS = LONGEST_LIFE_DAYS + RETENTION_DAYS
"""A mirror remembers a removal for so long: longer than any event from before it is taken. The
fortnight on top is for clocks that differ."""
ONCE_DAYS = 1
"""An event of a topic that is tried once is lost if it was not tried by then, and counted."""
ONCE_RETENTION_DAYS = ONCE_DAYS + 1
"""SQS keeps its message for so long: the day on top is to count what is lost."""
LISTING_DAYS = 14
"""A listing may be so old when the last event from it is sent: to a mirror such an event is as old
as its listing, and needs terms left for a target that is down."""

# Receives
MAX_RECEIVES = 1_000
"""After so many receives SQS itself moves a message to the dead letters: its maximum."""
RENEW_AFTER_RECEIVES = MAX_RECEIVES // 2
"""After so many receives a message is sent again: as many are left for a function that crashes."""
CRASHED_RECEIVES = 3
"""After so many receives without an outcome a message is halved, and given up once its term is
over; one that is tried once, in any case."""
MARKED_SECONDS = 1
"""Of the events with which the function ended again a call tries one; each other one comes so much
later than the one before."""

# Pauses, in seconds
LONGEST_DELAY_SECONDS = 900
"""The longest for which SQS keeps a new message back."""
LONGEST_PAUSE_SECONDS = 3_600
"""The longest pause of an event that fails again and again while its target takes others."""
AGE_PER_PAUSE = 6
"""A waiting message is looked at again after this part of its age."""
HELD_UP_MS = 3_600_000
"""In order an event that is refused alone holds up all behind it for about so long."""
LONGEST_PAUSE_IN_ORDER_SECONDS = 1_500
"""The longest pause in order: so a message's receives, which nothing can reset there, last for its
term, with some left for a function that crashes."""
UNAVAILABLE_SECONDS = 30
"""What a service of AWS's held up is tried again at least so often: its first calls take
`AWS_CALL_LIMITS`, and all of it is to be within a minute."""
UNAVAILABLE_RECEIVES = 150
"""In order only so many receives of a message have pauses that short: those of an hour and more."""
UNAVAILABLE_AGE_PER_PAUSE = 120
"""A large message that a service of AWS's holds up is looked at again after this part of its age,
or later: after an hour as any other."""
LONGEST_OUTAGE_PAUSE_SECONDS = 60
"""A target that is down or paused is looked at, and its messages come back, at least so often;
large ones, whose looks cost most, after `LONGEST_DELAY_SECONDS`."""
LOOKS_A_SECOND = 5
"""All large messages of a target together are looked at about so often: a look costs some seven
requests of SQS."""
PAUSED_LOOKS_A_SECOND = 1
"""The same of one that is paused."""
HIDDEN_MESSAGES = 100_000
"""With more messages waiting none is hidden: SQS allows 120,000 of a queue in flight."""
LONGEST_HIDDEN_SECONDS = 21_600
"""A message in flight is hidden for so long: half of what SQS allows."""
VISIBILITY_MARGIN_SECONDS = 30
"""A queue hides a message for so long beyond its window and its function's timeout: for throttled
calls."""
VISIBILITY_TIMEOUTS_IN_ORDER = 6
"""The same of a queue that keeps its order, in timeouts of the function."""
VISIBILITY_TIMEOUTS_ONCE = 6
"""The same of a queue whose messages are tried once."""
SHORTEST_VISIBILITY_SECONDS = 15
"""After these a message that a killed function had is seen again; longer each time."""
LONGEST_VISIBILITY_SECONDS = 300
FIRST_HEARTBEAT_SECONDS = 2.0
"""A batch that is settled sooner makes no call to stay in flight."""
HEARTBEAT_SECONDS = 5.0
HEARTBEAT_CALL_SECONDS = 0.1
"""One call may take so long, in a function with a small share of a processor."""
LAST_HEARTBEAT_SECONDS = 2.0
"""The end of a call in progress is awaited for so long, once all is settled: a part of the
`SETTLE_SECONDS`, or a function whose call hangs would be killed, and do all its work again."""
BREAKER_TRUSTED_MS = 1_000
"""A breaker that was closed is not read again for so long."""

# A function's time, in seconds
TIMEOUT_SECONDS = 60
"""Of one that sends, unless another is configured."""
INGEST_TIMEOUT_SECONDS = 30
SETTLE_SECONDS = 5.0
"""The time that a function needs after its last batch, to settle the rest."""
SEND_BACK_SECONDS = 1.0
"""With less time nothing is sent back to a queue: the rest is for the answer."""
POSTPONE_SECONDS = 3.0
"""With less time no message is postponed: the rest is for the answer and the counts."""
COUNT_SECONDS = 4.0
"""With less time nothing is counted: a call may take so long, and a function that is killed does
all its work again."""
COUNTED_SECONDS = 20.0
"""With less time it is not counted how many messages wait, before they are sent again: two tries of
the call take 14 seconds."""
INGEST_MATCH_SECONDS = 2.0
"""Ingest sends the events that it has matched after so long, before it matches more."""
INGEST_SEND_SECONDS = 10.0
"""Ingest leaves so much of its time, when it reads from S3, to send the routed events."""
FIRST_BATCH_SECONDS = 2.0
"""The time that may pass before the first batch without counting as used."""
ONCE_SEND_SECONDS = 5.0
"""The time that an endpoint has for its answer where an event is tried once: other topics' events
may wait for as long."""
LONGEST_SEND_SECONDS = 40.0
"""The longest batch of a target that cannot be created, and so cannot tell its own."""

# Calls of AWS
AWS_CALL_LIMITS: dict[str, Any] = {
    "connect_timeout": 2,
    "read_timeout": 5,
    "retries": {"mode": "standard", "total_max_attempts": 2},
}
"""The limits of each call that a function makes, as botocore's `Config` takes them. What is not
answered is retried with its message; the second try is for a connection that was lost while the
function was frozen."""

# Sizes
MEMORY_MB = 512
"""MB of a function that sends, unless another is configured."""
INGEST_MEMORY_MB = 512
"""MB of ingest."""
GATEWAY_MEMORY_MB = 1_024
"""MB of the gateway's function."""
LISTEN_SECONDS = 15
"""Seconds for which a listener's call waits for events on AWS."""
LISTEN_MEMORY_MB = 256
"""MB of the function in which listeners wait: on AWS they are paid by memory and time."""
TARGET_CONCURRENCY = 4
"""Batches of one target at once: one that hangs takes no more of the account's calls."""
ONCE_CONCURRENCY_FACTOR = 4
"""So many times as many for the queue that topics which are tried once share: each waits for a
moment when one of its endpoints hangs."""
INGEST_CONCURRENCY = 5
"""Calls of ingest at once where none are reserved for it: half of what a new account has, and some
1,300 messages of S3's a second, as docs/scale.md says."""
BATCH_MESSAGES = 10
"""Messages that a function is called with: the most that Lambda takes without a window."""
WINDOW_SECONDS = 1
"""Messages are gathered for so long: below that Lambda takes no more than `BATCH_MESSAGES`."""
QUIET_WINDOW_SECONDS = 20
"""A window of any length may last so long while few messages come: it does not end a poll."""
WINDOW_MESSAGES = 10_000
"""Messages that a function which sends is called with after a window."""
INGEST_WINDOW_MESSAGES = 1_000
"""The same of ingest, where one event may go to many targets."""
SQS_CALL_MESSAGES = 10
"""Messages in one call of SQS."""
POSTPONED_MESSAGES = 100
"""Messages that are postponed between two looks at the time."""
MESSAGE_BYTES = 1_048_576
"""Of a message, and of a call, with attributes."""
MESSAGE_EVENTS = 1_000
"""One message is the unit of a retry, and of what a function holds in memory."""
MESSAGE_RECORDS_BYTES = 8_388_608
"""The bytes of all records of one message, unless it is a single event."""
UNPACKED_BYTES = 4 * MESSAGE_RECORDS_BYTES
"""A message that would unpack to more is not opened: it could end the function, again and again."""
COMPRESS_PAST_BYTES = 2_048
"""A body of more is compressed."""
REASON_CHARACTERS = 1_000
"""Characters of an error's text that a message carries."""
CHUNK_EVENTS = 5_000
CHUNK_BYTES = 16_777_216
"""The most events, and bytes of records, in memory at once, beside the messages themselves."""
INGEST_CHUNK_BYTES = 1_048_576
"""The same for ingest, where one event may go to many targets."""
INGEST_COPIES = 100_000
"""So many deliveries of ingest in memory at once, and those of one event more: a bucket may have
1,000 notifications, and each is one."""
MERGED_EVENTS = 500
"""A message of so many events is not opened to be merged with others."""
LISTENER_MESSAGE_EVENTS = 100
"""Events in a message for a listener: the gateway holds a few messages of each."""
SENDS_AT_ONCE = 8
"""Queues that ingest sends to at the same time, and so the packed messages in its memory."""
SILENT_EVENTS = 3
"""So many events that get no answer at their first try, one after the other, are the target's
trouble."""
QUIET_SECONDS = 10.0
"""As long as the target took an event so lately, silence is that of single events."""
FAILED_EVENTS = 10
"""The same of events that fail in whatever way: answers of 503 may be about some of them only."""
UNTRUSTED_REFUSALS = 20
"""A target that never took an event is wrong, and not they, from so many refusals on, which all of
its functions count together."""
WHOLE_FAILURES = 3
"""A batch with one answer and both of its halves: if all fail, it is no event of them."""
WHOLE_FAILURES_BESIDE = 12
"""The same where the target took an event lately."""
GROWS_AFTER_BATCHES = 16
"""So many batches that a target took, one after the other, before it is given twice as much again:
one that gets no answer in time is halved."""

# Alarms
OLDEST_METRIC = "OldestEventAge"
"""The metric that a function writes of messages that have waited for long."""
REPORTED_AGE_SECONDS = 60
"""Seconds from which on a function writes it."""
ALARM_AGE_SECONDS = 900
"""Seconds after which an alarm fires."""
ALARM_MINUTES = 30
"""For how long an alarm looks back: what waits comes back within 15 minutes, or 22 in order. Over a
shorter time it would go off and on again with each try."""
NEARLY_DROPPED_DAYS = 10
PAUSED_ALARM_AGE_SECONDS = NEARLY_DROPPED_DAYS * DAY
"""The events of a paused target are meant to wait; their age is reported from here on."""

# What users may reach: of each such limit `tests/unit/limits` builds the worst that it allows
MOST_BUCKET_RULES_BYTES = 50_331_648
"""Of ingest's memory for the rules of one bucket, as `rules.cost` counts them when they are
written; to read them takes some 2 seconds."""
MOST_BUCKET_RULES_TEXT_BYTES = 16_777_216
"""Of the rules of one bucket as JSON, which ingest has in memory while it reads them."""
MOST_BUCKET_RULES_STEPS = 4_000
"""In which an event may be matched with the rules of one bucket, as `rules.cost` counts them: a
hundred regular expressions of some 40 each. A step takes up to 4 µs of a processor."""
MOST_KEPT_RULES_BYTES = 2 * MOST_BUCKET_RULES_BYTES
"""The same for the rules of all buckets of a batch, and those that are kept for the next one."""
MOST_REGEX_CHARACTERS = 1_000
MOST_FILTER_BYTES = 1_024
"""Of a filter's name or value, as in S3 and MinIO."""
MOST_ID_CHARACTERS = 255
"""Of the `Id` of a notification, as in S3."""
MOST_BUCKET_NOTIFICATIONS = 1_000
"""Notifications of topics in a bucket: each sends its own copy of an event."""
MOST_TENANT_NOTIFICATIONS = 100
"""The same of topics of one tenant."""
MOST_LISTENERS = 500
MOST_USER_LISTENERS = 150
MOST_BUCKET_LISTENERS_STEPS = 2_000
"""To match an event with the wildcards of all listeners of a bucket, by `rules.cost`. Those of all
buckets may have no wildcards."""
MOST_USER_LISTENERS_STEPS = 500
"""The same of a user's listeners of a bucket."""
MOST_XML_BYTES = 8_388_608
"""10,000 configurations as `mc` writes them take 5 MB."""
MOST_XML_ELEMENTS = 10_000
"""In one child of the root, which is in memory as a whole."""
MOST_XML_LEVELS = 16
MOST_CONNECTIONS = 2_000
MOST_HEADERS_BYTES = 65_536
"""Of a request line and its headers: S3 allows 8 KB of headers, presigned URLs more."""
MOST_HEADERS = 500
"""Of a request: as many of the shortest metadata as S3's 8 KB of headers take."""
MOST_SMALL_BODY_BYTES = 65_536
"""Of a body read whole that are not counted, so that small ones are always read."""
MOST_USER_BODIES_BYTES = 16_777_216
MOST_BODIES_BYTES = 4 * MOST_USER_BODIES_BYTES
"""Of all bodies read whole, beyond `MOST_SMALL_BODY_BYTES` of each, until their calls end."""
MOST_USER_STREAMS = 250
MOST_STREAMS = 2 * MOST_USER_STREAMS
"""Answers that are streamed at once: a slow reader's takes some 0.6 MB."""
MOST_FORM_BYTES = 262_144
"""Of a form, which is read before its signature can be checked: as many as a topic's attributes
may have, each written as `%XX`."""
MOST_FORM_FIELDS = 1_000
MOST_USERS = 1_000
MOST_USER_KEYS = 2
"""A new one, and the old one until all clients have the new one."""
MOST_USER_PATTERNS = 100
"""Patterns of buckets' names that a user has rights on."""
MOST_USER_PATTERNS_CHARACTERS = 4_096
"""Of all of them: each is a regular expression, which the gateway compiles and keeps."""
MOST_TARGETS = 250
"""Dynamic targets, whose settings `mc admin config export` has in one text."""
MOST_QUEUED_TOPICS = 1_000
"""Topics that have a queue: each is read with the targets."""
MOST_SETTINGS_BYTES = 16_384
"""Of a dynamic target, without secrets, as JSON."""
MOST_ATTRIBUTES_BYTES = 65_536
"""Of a topic, as JSON, with a policy and a certificate."""
MOST_LOGIN_BYTES = 16_384
"""The secret of a topic's target also holds certificates."""
MOST_ENDPOINT_CHARACTERS = 8_192
MOST_PAGE_TOPICS = 100
MOST_PAGE_CHARACTERS = 131_072
"""Of the attributes of all topics on a page, unless it is a single one."""
MOST_POLICY_BYTES = 30_720
"""SNS's limit. Every call to a topic reads its policy."""
MOST_POLICY_WILDCARDS = 100
"""Each takes some 0.15 ms, also when another user lists topics."""
MOST_SCAN_HASHES = 4_000_000
"""Of keys with many versions, which the driver of a scan sends to all workers. Of more each worker
gets its part only: for that the listing is shuffled."""
MOST_SCAN_BUCKETS = 1 << 24
"""In which a scan counts folders: the driver sends all those to the workers that have too many."""
