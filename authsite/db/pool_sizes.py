"""How many connections a process may have, and how long a request waits for one.

A process has two engines (transactions and AUTOCOMMIT), and the pool of the prepared queries: at
most 24 connections (docs/scaling.md).
"""

ENGINE_POOL = 4  # connections that an engine keeps open
ENGINE_OVERFLOW = 4  # more of them, which are closed after use
PREPARED_POOL = 8
TIMEOUT = 2  # seconds
