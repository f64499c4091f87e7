"""What ``authsite serve`` prints at the start: what to open, and commands to copy."""

from authsite.settings import Settings

SAMPLE = "-d {field}=you@example.com -d 'password=purple wolf 77 tea'"


def greeting(cfg: Settings, local_url: str) -> str:
    """The text at the start; ``local_url`` is where the server listens."""
    url = cfg.base_url[0] if cfg.base_url else local_url
    where = f"; it listens on {local_url}" if url != local_url else ""
    lines = [
        f"authsite is running at {url}{where}  (stop with Ctrl-C)",
        "",
        f"  Home page      {url}/",
        f"  Login page     {cfg.login_page_url if '://' in cfg.login_page_url else f'{url}/login'}",
        *([f"  API            {url}/docs"] if cfg.docs_page else []),
        "",
    ]
    if not cfg.production:
        lines += [*_examples(cfg, url), ""]
    return "\n".join(lines)


def _examples(cfg: Settings, url: str) -> list[str]:
    if cfg.registration:
        lines = [
            f"  Register       curl -s {url}/v1/register \\",
            f"                   {SAMPLE.format(field='email')}",
        ]
    else:
        lines = ["  Register       authsite user create --email you@example.com"]
    if cfg.registration and cfg.variant == "B" and cfg.require_email_confirmation:
        place = "shown below" if cfg.mail_driver == "log" else "that you get"
        lines.append(f"  Confirm        open the link in the mail {place}")
    if cfg.clients:
        name = "web" if "web" in cfg.clients else next(iter(cfg.clients))
        lines += [
            f"  Log in         curl -s {url}/v1/clients/{name}/login \\",
            f"                   {SAMPLE.format(field='username')}",
            f"  Who am I       curl -s {url}/v1/user -H 'Authorization: Bearer <access_token>'",
        ]
    return lines
