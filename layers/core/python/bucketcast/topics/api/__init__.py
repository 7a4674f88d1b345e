"""The SNS API of topics, as in Ceph RGW: `POST /` with a form, answered in XML.

`sns` recognizes a call and runs it, `form` parses it, `user_topics` checks the user's rights and
changes topics, and `responses` writes the answer.
"""
