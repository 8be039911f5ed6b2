"""What a process finds in a SLURM allocation: its variables, and commands of SLURM, which write down who calls them."""

import os
from pathlib import Path

_SQUEUE = """\
#!/bin/sh
echo "squeue $*" >> "{calls}"
case "$*" in
  *-u*) ;;
  *%T*) echo RUNNING ;;
  *%L*) echo UNLIMITED ;;
  *%r*) echo None ;;
esac
"""
_SCONTROL = """\
#!/bin/sh
echo "scontrol $*" >> "{calls}"
"""
_VARIABLES = {
    "SLURM_JOB_ID": "4242",
    "SLURM_JOBID": "4242",
    "SLURM_JOB_NAME": "interactive",
    "SLURM_NTASKS": "2",
    "SLURM_CPUS_PER_TASK": "2",
    "SLURM_MEM_PER_CPU": "300",
    "SLURM_JOB_NODELIST": "node1",
    "SLURM_PROCID": "0",
    "SLURM_LOCALID": "0",
}


class Allocation:
    """Somebody's own, in which a sweep is launched: none of its jobs may be queued again."""

    def __init__(self, folder: Path) -> None:
        self.calls = folder / "calls"
        folder.mkdir()
        for name, script in (("squeue", _SQUEUE), ("scontrol", _SCONTROL)):
            (folder / name).write_text(script.format(calls=self.calls))
            (folder / name).chmod(0o755)
        self.environment = {**_VARIABLES, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}

    def harm(self) -> list[str]:
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [f"somebody's job was queued again: {line}" for line in lines if line.startswith("scontrol requeue")]
