"""Groups of users: tables, the reserved groups, labels, owners, and the scopes that groups give.

`authsite.groups` has what administrators do with them.
"""
