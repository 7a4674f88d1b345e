"""`bucketcast console`: web pages for the person who runs the command, on their own machine.

A view calls the function that a command calls, and shows that command. It has no logic of its own.
`app` maps paths to views, `security` decides who may call them.
"""
