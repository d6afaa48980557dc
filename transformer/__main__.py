"""`python -m transformer`."""

import sys

from transformer.cli.main import main

sys.exit(main())
