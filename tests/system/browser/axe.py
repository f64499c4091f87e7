"""axe-core on a page."""

from axe_core_python.sync_playwright import Axe

# The only rule whose result depends on the color scheme.
CONTRAST = {"runOnly": ["color-contrast"]}
# axe reports one element for each rule that is kept, instead of all; and on a page that has axe
# already, half a megabyte of script need not be sent again.
_BRIEF = {"resultTypes": ["violations"]}
WHOLE, AGAIN = Axe(), Axe("null")
# This version of axe does not know the word, which the HTML Standard has at the end of a value.
_WITHOUT_WEBAUTHN = """document.querySelectorAll('[autocomplete$=" webauthn"]').forEach(
  (field) => field.setAttribute('autocomplete', field.getAttribute('autocomplete').slice(0, -9)))"""


def violations(page, options=None, without=None, axe=WHOLE):
    """The rules that the page violates, each with the first element.

    ``without`` is a selector of elements that are left out.

    The page is examined with reduced motion, in which no page of ours has a transition. The
    contrast of a color halfway through a transition says nothing.
    """
    page.emulate_media(reduced_motion="reduce")  # and later pages, too: a change ends a transition
    page.evaluate(_WITHOUT_WEBAUTHN)
    context = {"exclude": [without]} if without else None
    found = axe.run(page, context, {**_BRIEF, **(options or {})})["violations"]
    return [(each["id"], each["nodes"][0]["html"][:200]) for each in found]


def violations_in_both_schemes(page, without=None):
    """`violations`, and those of the contrast in the dark color scheme."""
    found = violations(page, without=without)
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    found += [("dark", *each) for each in violations(page, CONTRAST, without, AGAIN)]
    page.emulate_media(color_scheme="light")
    return found
