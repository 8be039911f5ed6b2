"""`python -m bertxfer`, and the command `bertxfer`: see command.py."""

import sys


def main() -> None:
    """Runs the command line of this process and ends it with its status."""
    from bertxfer.system import interrupts

    interrupts.end_at_once()  # before libraries are imported, which takes a second
    from bertxfer.system import collector

    with collector.resting():
        from bertxfer.command import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
