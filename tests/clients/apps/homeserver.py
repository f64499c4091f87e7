"""Writes the configuration of a homeserver of Matrix whose users sign in at authsite.

The names are those of Synapse's documentation; JSON is YAML, too.
"""

import json
import os
import secrets
from pathlib import Path

port, issuer = os.environ["PORT"], os.environ["ISSUER"]
url = f"http://127.0.0.1:{port}/"
config = {
    "server_name": "localhost",
    "public_baseurl": url,
    "listeners": [
        {
            "port": int(port),
            "bind_addresses": ["127.0.0.1"],
            "type": "http",
            "resources": [{"names": ["client"]}],
        }
    ],
    "database": {"name": "sqlite3", "args": {"database": "homeserver.sqlite"}},
    "media_store_path": "media",
    "signing_key_path": "signing.key",
    "pid_file": "homeserver.pid",
    "report_stats": False,
    "macaroon_secret_key": secrets.token_hex(),
    "form_secret": secrets.token_hex(),
    "trusted_key_servers": [],
    "sso": {"client_whitelist": [url]},
    "oidc_providers": [
        {
            "idp_id": "authsite",
            "idp_name": "authsite",
            "issuer": issuer,
            "client_id": os.environ["CLIENT_ID"],
            "client_secret": os.environ["CLIENT_SECRET"],
            "scopes": ["openid", "profile", "email"],
            "user_mapping_provider": {
                "config": {
                    "localpart_template": "{{ user.preferred_username }}",
                    "display_name_template": "{{ user.name }}",
                    "email_template": "{{ user.email }}",
                }
            },
        }
    ],
}
Path("homeserver.yaml").write_text(json.dumps(config))
