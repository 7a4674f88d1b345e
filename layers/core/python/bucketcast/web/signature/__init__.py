"""Signature Version 4: who sent a request, and that it was not changed.

`claims` parses who signed a request, `canonical` computes signatures, `check` compares them,
`payload` and `chunked` verify bodies, and `sign` signs our own calls.
"""
