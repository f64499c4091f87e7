"""``python -m bench.peers.fill FOLDER URL POOLS``: fill a database, print file paths.

A separate program, since the Python of the peers' program does not have authsite.
"""

import json
import sys
from pathlib import Path

from bench import seed

if __name__ == "__main__":
    folder, url, pools = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    ini, cached = seed.ini(folder, url), seed.ini(folder, url, "cached", guard_cache="1s")
    files, refresh, keys = seed.fill(folder, url, pools)
    prototype = str(seed.fill_prototype(folder, url))
    named = {name: str(path) for name, path in files.items()}
    print(
        json.dumps(
            {
                **named,
                "ini": str(ini),
                "cached": str(cached),
                "keys": keys,
                "prototype": prototype,
                "refresh": list(map(str, refresh)),
            }
        )
    )
