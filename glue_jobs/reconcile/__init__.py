"""Compare a mirror with its bucket, and repair missing, stale and extra rows by events.

::

    rows         what the target holds, read in partitions                    mirror
    suspects     the keys on which bucket and target disagree                 compare
    differences  what still differs when both are read again, with the rule   recheck
    repairs      an event for each, newer than the target's merged state      repair
"""
