"""Options as every configuration declares them, and what functions and jobs read at their start.

`types` has the types of options, `options` declares and reads them. Targets, `bucketcast.toml` and
jobs declare theirs with it. `environment` has the settings that the stack gives to functions,
`pipeline` those of the Spark jobs, and `egress` the addresses that a function may connect to.
`secret_values` finds the secrets in a target's settings, so that they can be hidden in errors.
"""
