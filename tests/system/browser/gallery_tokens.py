"""The states of the page with personal access tokens, for the gallery."""

from tests.system.browser.people import PASSWORD


def _form(ann):
    return ann.page.locator("form[action$='/account/tokens']")


def form_open(ann):
    ann.go("/account/access")
    ann.open("Create a token")


def mistake(ann):
    ann.go("/account/access")
    ann.open("Create a token")
    _form(ann).locator("[name=current_password]").fill("wrong wrong wrong 1")
    ann.press("Create token")
    ann.page.locator("[aria-invalid=true]").first.wait_for()


def created(ann):
    for name, scope in (("Nightly backup of the archive", ""), ("x" * 100, "Read reports")):
        ann.go("/account/access")
        ann.open("Create a token")
        form = _form(ann)
        form.locator("[name=name]").fill(name)
        form.locator("[name=current_password]").fill(PASSWORD)
        if scope:
            form.get_by_label(scope).check()
        ann.press("Create token")
        ann.sees("This is your new token. Copy it now")
