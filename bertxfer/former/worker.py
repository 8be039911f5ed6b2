"""`python -m bertxfer.worker`: jobs that were queued, and workers that were running, when it had this name."""

import sys

from bertxfer.sweeps.worker import start

if __name__ == "__main__":
    sys.exit(start(sys.argv[1:]))
