"""Compare a mirror with its bucket, and repair missing, stale and extra rows by events.

::

    rows         the rows of the target, read in partitions                   mirror
    suspects     the keys on which bucket and target disagree                 compare
    states       what the target has of these, read again                     recheck
    differences  the keys that still differ when both are read again          recheck
    repairs      an event for each, newer than the target's merged state      repair
"""
