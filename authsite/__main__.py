"""``python -m authsite`` is the ``authsite`` command."""

from authsite.cli import main

main()
