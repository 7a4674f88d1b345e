"""Functions as Lambda runs them: by AWS's runtime interface client, from the bundles of a deploy.

The client is of Lambda's Python where the machine has it. Between two calls a function stands
still, as in Lambda.
"""
