"""Flask-AppBuilder with the configuration of Superset or Airflow, as these two load it.

The classes that the configuration imports are Flask-AppBuilder's, which those of both are made of.
"""

import os
import sys
from pathlib import Path
from types import ModuleType

from flask import Flask
from flask_appbuilder import AppBuilder, IndexView
from flask_appbuilder.security.sqla.manager import SecurityManager
from flask_appbuilder.utils.legacy import get_sqla_class

PARENTS = {
    "superset.security": "SupersetSecurityManager",
    "airflow.providers.fab.auth_manager.security_manager.override": (
        "FabAirflowSecurityManagerOverride"
    ),
}
for name, parent in PARENTS.items():
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        sys.modules.setdefault(".".join(parts[:length]), ModuleType(".".join(parts[:length])))
    setattr(sys.modules[name], parent, SecurityManager)

config, port, role = sys.argv[1:]
settings = {}
exec(Path(config).read_text(), settings)  # noqa: S102  the file under test
manager = settings.get("CUSTOM_SECURITY_MANAGER") or settings["SECURITY_MANAGER_CLASS"]
app = Flask(__name__)
app.config.update(
    {name: value for name, value in settings.items() if name.isupper()},
    SECRET_KEY=os.urandom(32).hex(),
    SQLALCHEMY_DATABASE_URI="sqlite:///builder.sqlite",
    WTF_CSRF_ENABLED=True,
    FAB_ROLES={role: []},
)
del app.config[
    "CUSTOM_SECURITY_MANAGER" if "CUSTOM_SECURITY_MANAGER" in settings else "SECURITY_MANAGER_CLASS"
]
database = get_sqla_class()(app)
with app.app_context():
    builder = AppBuilder(app, database.session, security_manager_class=manager, indexview=IndexView)
    builder.sm.add_role(role)


@app.get("/who")
def who():
    user = builder.sm.current_user
    return {"username": user.username, "email": user.email} if user else {"username": None}


app.run(host="127.0.0.1", port=int(port))
