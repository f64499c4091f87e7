"""bcrypt at cost 4 in place of cost 10, which is the lowest that the settings allow.

One hash of cost 10 takes 60 ms of processor time, and most tests need some. A quick hash says
that its cost is 10, and is checked like any other. Other costs are computed as they are.
"""

import bcrypt

in_use = False
_hashpw = bcrypt.hashpw


def use(wanted):
    """Switch it on or off in this process."""
    global in_use
    in_use = wanted
    bcrypt.hashpw = _quick if wanted else _hashpw


def _quick(password, salt):
    prefix, cost, rest = salt[:4], salt[4:6], salt[6:]
    if cost != b"10":
        return _hashpw(password, salt)
    return prefix + cost + _hashpw(password, prefix + b"04" + rest)[6:]
