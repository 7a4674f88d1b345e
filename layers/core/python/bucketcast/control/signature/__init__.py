"""Signature Version 4: whose request it is, and that it came as it was sent.

`claims` reads what a request says of itself, `canonical` computes, `check` compares, `chunked`
reads bodies that are signed in parts.
"""
