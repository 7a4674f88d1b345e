"""Dynamic targets on AWS.

`targets` creates, changes and removes them, `tasks` cleans up after interrupted calls, `resources`
are their resources, `factory` builds all of it for a deployment.
"""
