"""A mirror beside its bucket: what is missing, stale or extra there, and the events that mend it.

::

    rows        what the target holds, read in shares                           mirror
    suspects    the keys of which bucket and target say different things        compare
    differences what still differs when both are asked again, and by which rule look
    repairs     an event for each, newer than all that the target knows         repair
"""
