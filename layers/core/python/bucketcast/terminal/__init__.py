"""Read and print on the command line, for the commands of all features.

`params` has the types of options and arguments. `output` prints a command's result, as text or as
JSON, and progress, and finds the deployment that it works on; `times` has times as people read
them.
"""
