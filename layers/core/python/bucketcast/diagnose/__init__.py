"""Find what is wrong with a deployment, and follow an event through it.

Doctor: `queues`, `buckets` and `rules` check what `aws` reads and return findings; `target` is the
probe that runs in a target's own function. Explain: `explain` matches an event with rules and
formats it without sending. Trace and test: `steps` reads an event's steps from trace lines, and
`trial` sends synthetic events and measures them. `command` has the four commands.
"""
