"""The SNS API of topics, as in Ceph RGW: `POST /` with a form, answered in XML.

`form` parses a call, `actions` runs it, `responses` writes the answer, and `routes` joins them with
authentication.
"""
