"""Real operations and injected events over ten targets, while all around them breaks.

::

    plan        what happens, by a seed: operations, messages, faults, poison
    run ──► load      performs the operations, sends the messages
        ├─► faults    kills, freezes, cuts and changes logins meanwhile
        └─► judge     when nothing waits any more: logs, mirrors and dead letters beside the plan
    log         what one log holds, and what it shows of each event
    traces      what the functions themselves say that they delivered
    report      what is printed, and what `benchmarks/chaos.md` quotes

A seed fixes what is done, in which order, and what breaks at which part of the way. It does not fix
what happens at the same time: that is the machine's.
"""
