"""`python -m transformer`."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - before an import that it could not read
    sys.exit("transformer: Python 3.11 or later is needed; activate the environment: . .venv/bin/activate")

from transformer.cli.main import main

sys.exit(main())
