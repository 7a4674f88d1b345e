"""Read and print on the command line, for the commands of all features.

`params` has the types of options and arguments. `output` prints a command's result, as text or as
JSON, and finds the deployment that it works on; `progress` and `times` have progress and times
as people read them. `page` writes a target's documentation page from its options.
"""
