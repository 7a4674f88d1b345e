"""Signature Version 4: verify the sender and the content of requests, and sign our own.

`claims` parses the claim of a request, `canonical` computes signatures, `check` compares them,
`payload` and `chunked` verify bodies while they stream, and `sign` signs our calls to AWS.
"""
