"""The environment of the page templates; a site's own (setting `templates-folder`) come first."""

from jinja2 import BaseLoader, ChoiceLoader, Environment, FileSystemLoader, PrefixLoader
from pyramid_jinja2 import SmartAssetSpecLoader

from authsite.settings import TEMPLATES


def page_templates(folder: str | None, *, reload: bool) -> Environment:
    """The environment; ``folder`` has a site's own templates under the names of ours.

    A template is named ``authsite:templates/layout.jinja2``. ``original/layout.jinja2`` is always
    ours, for a template that extends the one it replaces. ``reload``: notice changed files.
    """
    own: list[BaseLoader] = []
    if folder:
        own.append(PrefixLoader({"authsite:templates": FileSystemLoader(folder)}))
    original = PrefixLoader({"original": FileSystemLoader(TEMPLATES)})
    return Environment(  # nosec  autoescape is on
        loader=ChoiceLoader([*own, original, SmartAssetSpecLoader()]),
        autoescape=True,
        extensions=["jinja2.ext.i18n"],
        auto_reload=reload,
    )
