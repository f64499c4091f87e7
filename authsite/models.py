"""Every table of authsite: importing a model adds its table to the metadata of `Base`."""

import authsite.audit.models
import authsite.installation.models
import authsite.mail.models
import authsite.oauth.models
import authsite.rate_limit.models
import authsite.sessions.models
import authsite.users.groups.models
import authsite.users.models  # noqa: F401  imported for what this does
from authsite.db.base import Base

METADATA = Base.metadata
