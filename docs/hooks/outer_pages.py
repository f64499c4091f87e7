"""Hooks of MkDocs for what is outside of docs/, and for Markdown as GitHub writes it.

CONTRIBUTING.md, the changelog and the examples become pages of the site. A link to any other file
of the repository becomes plain text, since the site does not have it. A link to a file that does
not exist is a warning, and so an error of the build.
"""

import logging
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-policy.md",
    "clients/python/README.md": "clients.md",
    "README.md": "quick-start.md",
}
GENERATED = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
LANGUAGES = {
    ".py": "python", ".txt": "text", ".yml": "yaml", ".conf": "nginx", ".ini": "ini", ".sh": "sh",
    "": "caddyfile",
}  # fmt: skip
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
LOADS = re.compile(
    r"<(?:audio|embed|iframe|img|link|object|script|source|video)\b[^>]*"
    r"\b(?:data|href|src|srcset)=[\"']?(?:https?:)?//[^\"'>\s]*|url\([\"']?(?:https?:)?//[^)]*"
)
SETTING = re.compile(r"^\| `([a-z][a-z0-9_.-]*)` \|", re.MULTILINE)
CODE_IN_TABLE = re.compile(r"`[^`\n]*\\\|[^`\n]*`")

# The guides come first in the results of a search; evidence, and pages for contributors, would hide
# them.
BOOSTED = ("How-to guides", "Tutorials", "Home")
NOT_SEARCHED = ("Evidence", "Contributing")
NOT_RUN = re.compile(r'^( *```[\w-]*) title="Not run by our tests"$', re.MULTILINE)

log = logging.getLogger("mkdocs.hooks.outer_pages")


def examples():
    """The folders of examples that have a README, and no page in docs/: name -> folder."""
    folders = [path.parent for path in sorted(ROOT.glob("examples/*/README.md"))]
    return {each.name: each for each in folders if not (ROOT / f"docs/{each.name}.md").exists()}


def on_files(files, config):
    """Add the pages that are outside of docs/."""
    for name in GENERATED:
        if (ROOT / name).exists():
            text = (ROOT / name).read_text("utf-8")
            files.append(File.generated(config, PAGES[name], content=text))
    for name, folder in examples().items():
        files.append(File.generated(config, f"examples/{name}.md", content=example_page(folder)))
    return files


def example_page(folder):
    """The README of an example, and its files."""
    parts = [(folder / "README.md").read_text("utf-8"), "## The files\n"]
    for path in sorted(each for each in folder.iterdir() if each.suffix in LANGUAGES):
        if path.is_file() and not path.name.startswith("."):
            language = LANGUAGES[path.suffix]
            text = path.read_text("utf-8").rstrip()
            parts.append(f'```{language} title="{path.name}"\n{text}\n```\n')
    return "\n".join(parts)


def on_page_markdown(markdown, page, config, files):
    """Translate links, and the escaped pipes that code in tables needs on GitHub."""
    here = page.file.src_uri
    page.meta["search"] = search_options(page)
    # This title is for our tests; it tells a reader nothing.
    markdown = NOT_RUN.sub(r"\1", markdown)
    if here == "settings.md":  # each key has an anchor, settings.html#expires-in, and links to it
        markdown = SETTING.sub(r"| [`\1`](#\1){ #\1 .key } |", markdown)
    parts = FENCE.split(markdown)
    for number in range(0, len(parts), 2):  # the others are fences
        text = LINK.sub(lambda found: translated(found, here), parts[number])
        text = CODE_IN_TABLE.sub(lambda found: found[0].replace("\\|", "|"), text)
        parts[number] = deeper(text)
    return "".join(parts)


def search_options(page):
    """How the search of the site treats ``page``, by its tab in the navigation."""
    tab = page.ancestors[-1].title if page.ancestors else ""
    return {"exclude": tab in NOT_SEARCHED, "boost": 2 if tab in BOOSTED else 1}


def on_post_page(output, page, config):
    """A page that loads something from another host is a warning."""
    for found in LOADS.findall(output):
        log.warning("%s loads from another host: %s", page.file.src_uri, found)
    return output


def on_post_build(config):
    """The same for the stylesheets of the theme."""
    for path in sorted(Path(config.site_dir).rglob("*.css")):
        for found in LOADS.findall(path.read_text("utf-8")):
            log.warning("%s loads from another host: %s", path.name, found)


def translated(found, here):
    """The link ``found`` on the page ``here``, for the site."""
    text, target, anchor = found[1], found[2], found[3] or ""
    if "://" in target or target.startswith("mailto:"):
        return found[0]
    path = posixpath.normpath(posixpath.join(folder_of(here), target))
    page = page_of(path)
    if page:
        return f"[{text}]({posixpath.relpath(page, posixpath.dirname(here))}{anchor})"
    if not (ROOT / path).exists():
        log.warning("%s links to %s, which does not exist", here, target)
    return text


def folder_of(here):
    """The folder of the repository that the links of a page start from."""
    for name in GENERATED:
        if PAGES[name] == here:
            return ""
    if here.startswith("examples/"):
        return here.removesuffix(".md")
    return posixpath.join("docs", posixpath.dirname(here))


def page_of(path):
    """The page of the site for a file of the repository, or None."""
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if not path.startswith("examples/"):
        return None
    name = path.split("/")[1]
    if name in examples():
        return f"examples/{name}.md"
    return f"{name}.md" if (ROOT / f"docs/{name}.md").exists() else None


def deeper(text):
    """``text`` with four blanks before what belongs to a list item; GitHub needs fewer."""
    lines, shift = [], None  # shift: of the fence that the line is in
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        fence = line.lstrip(" ").startswith("```")
        if shift is not None:
            lines.append(" " * shift + line if line.strip() else line)
            if fence:
                shift = None
            continue
        add = 4 - indent if indent in (2, 3) else 0
        lines.append(" " * add + line)
        if fence:
            shift = add
    return "\n".join(lines)
