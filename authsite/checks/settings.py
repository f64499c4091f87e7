"""The checks of ``authsite doctor`` that read the settings, and the files that have them."""

from collections.abc import Collection, Iterator, Mapping

from authsite.platform.finding import Finding
from authsite.platform.settings import Settings
from authsite.platform.settings.files import exposed, folder_errors, private_paths
from authsite.platform.settings.sources import unknown_variables
from authsite.platform.settings.unsafe_choices import RULES

from .findings import line

# The levels (and names) of rules that are an error if they are broken.
LENIENT = ("start",)
STRICT = ("start", "refused", "required", "production-off", "sealing-key-unset")


def file_findings(
    cfg: Settings, ini: Mapping[str, object], variables: Mapping[str, str]
) -> Iterator[Finding]:
    """Variables that authsite does not know, files that others may read, folders."""
    for name in unknown_variables(variables):
        yield line("variable-unknown", name)
    for file in private_paths(cfg, ini, variables):
        if advice := exposed(file):
            yield line("file-exposed", str(file), advice=advice)
        elif file.exists():
            yield line("file-private", str(file))
    for invalid in folder_errors(cfg):
        yield Finding("wrong", invalid.key, f"{invalid.value}: {invalid.message}")


def rule_findings(cfg: Settings, wrong: Collection[str]) -> Iterator[Finding]:
    """The unsafe choices; those with a level or name in ``wrong`` are errors."""
    broken = [(rule, advice) for rule in RULES if (advice := rule.broken_by(cfg))]
    for rule, advice in broken:
        state = "wrong" if {rule.level, rule.name}.intersection(wrong) else "change"
        yield Finding(state, rule.subject, advice)
    unsafe = {rule.subject for rule, _ in broken}
    for subject in dict.fromkeys(rule.subject for rule in RULES):
        if subject not in unsafe:
            yield line("key-fine", subject)
