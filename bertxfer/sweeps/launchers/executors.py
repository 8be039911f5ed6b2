"""submitit's executors, whose workers are told what to do on their own command line.

submitit hands a job over as a pickle in the sweep's folder. Whoever may write there, as a group that shares results
may, could have any code run in the name of whoever launches; so that pickle is never read.
"""

import json
import shlex
from dataclasses import asdict

import submitit

from bertxfer.sweeps.post import Post


class _WithPost:
    python: str
    post: Post

    @property
    def _submitit_command_str(self) -> str:
        return f"{self.python} -u -m bertxfer.sweeps.worker {shlex.quote(json.dumps(asdict(self.post)))}"


class LocalExecutor(_WithPost, submitit.LocalExecutor):  # type: ignore[misc]
    pass


class SlurmExecutor(_WithPost, submitit.SlurmExecutor):  # type: ignore[misc]
    pass
