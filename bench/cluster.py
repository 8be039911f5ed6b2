"""A real SLURM on one machine: accounting, fake GPUs, a partition that preempts, and nodes that can be lost.

python bench/cluster.py up|down|status|env [--folder F]

Everything it writes is in its folder and everything that listens does so on loopback; it needs neither systemd nor
cgroups. Only the Debian packages go elsewhere. It is for tests and benchmarks: anyone on the machine may use it.
"""

import argparse
import os
import pwd
import random
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge", "slurmdbd", "mariadb-server-core", "mariadb-client-core")
DEFAULT_FOLDER = Path(tempfile.gettempdir()) / f"bxs-{os.getuid()}"
MARK = "test-cluster"  # a folder without it is never overwritten or deleted

EPILOG = """\
#!/bin/sh
# Where there are cgroups, nothing of a job outlives it. Here SLURM loses a process whose parent has died.
with() { mark=$1; shift; grep -lsxz "$mark" "$@" /dev/null; }
found=$(with 'SLURM_TASK_PID=.*' /proc/[0-9]*/environ)
for mark in "SLURM_JOB_ID=$SLURM_JOB_ID" "SLURMD_NODENAME=$SLURMD_NODENAME" "SLURM_CONF=$SLURM_CONF"; do
    found=$(with "$mark" $found)
done
for file in $found; do
    pid=${file#/proc/}
    kill -KILL "${pid%/environ}"
done
exit 0
"""


class ClusterError(RuntimeError):
    pass


class Job(NamedTuple):
    id: str
    state: str
    node: str


@dataclass
class Cluster:
    folder: Path
    nodes: int = 2
    cpus: int = 4  # of each node; more than the machine has is fine
    gpus: int = 2  # of each node; only CUDA_VISIBLE_DEVICES is real
    mem: int = 8000  # MB of each node
    port: int = 0  # the first of nodes + 2 ports; 0 looks for free ones
    grace: int = 10  # seconds between a preempted job's SIGTERM and its end
    max_array_size: int = 1001
    extra: Sequence[str] = ()  # lines of slurm.conf
    _children: list[subprocess.Popen[bytes]] = field(default_factory=list, init=False, repr=False)

    def __enter__(self) -> "Cluster":
        try:
            self.up()
        except BaseException:
            self.down()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.down()

    def up(self) -> None:
        """Starts what is not running and returns when every node can take jobs."""
        self._claim()
        _install()
        if not any(alive for _, alive in self.daemons()):
            self._configure()
        folder, me = self.folder, _me()
        munge = ["munged", "--foreground", f"--key-file={folder}/munge.key", f"--socket={folder}/munge/socket"]
        munge += [f"--pid-file={folder}/run/munged.own", f"--log-file={folder}/log/munged.own"]
        self._start("munged", *munge, f"--seed-file={folder}/munge.seed")
        self._await("munged", lambda: self._works("munge", "-n", "-S", f"{folder}/munge/socket"))
        if not (folder / "mysql" / "mysql").exists():
            install = ["mariadb-install-db", "--no-defaults", f"--user={me}", f"--datadir={folder}/mysql"]
            install += ["--auth-root-authentication-method=socket", f"--auth-root-socket-user={me}", "--skip-test-db"]
            self.run(*install, timeout=120)
        database = ["mariadbd", "--no-defaults", f"--user={me}", f"--datadir={folder}/mysql", "--skip-networking"]
        database += [f"--socket={folder}/mysql.sock", f"--pid-file={folder}/run/mariadbd.own"]
        database += ["--innodb-buffer-pool-size=64M", "--innodb-flush-log-at-trx-commit=0"]
        self._start("mariadbd", *database)
        self._await("mariadbd", (folder / "mysql.sock").is_socket)
        self._start("slurmdbd", "slurmdbd", "-D", "-s")
        self._await("slurmdbd", lambda: self._works("sacctmgr", "-nP", "list", "cluster"))
        if "test" not in self.run("sacctmgr", "-nP", "list", "cluster", "format=cluster").split():
            self.run("sacctmgr", "-iQ", "add", "cluster", "test")
        self._start("slurmctld", "slurmctld", "-D", "-i")
        self._await("slurmctld", lambda: self._works("scontrol", "ping"))
        for n in range(1, self.nodes + 1):
            self._start_slurmd(f"node{n}")
        for n in range(1, self.nodes + 1):
            self._await(f"node{n}", partial(self._usable, n))

    def down(self, purge: bool = True) -> None:
        """Ends the daemons and all jobs at once. Without purge, the next up finds the queue, what ran requeued."""
        noticed = not purge and self._pid("slurmctld") is not None
        for name, _ in self.daemons():
            if name.startswith("node"):
                self.kill_node(name, noticed)
        for name in ("slurmctld", "slurmdbd", "mariadbd", "munged"):
            self._stop(name, signal.SIGTERM)
        if purge and (self.folder / MARK).exists():
            shutil.rmtree(self.folder)

    def env(self) -> dict[str, str]:
        """The environment for commands that are to see this cluster, and no other that the caller may be a job of."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "SBATCH", "SRUN"))}
        path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
        return {**kept, "PATH": path, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def run(self, *words: str, timeout: float = 60) -> str:
        """The output of a command, such as run("squeue", "-h"); an error if it fails."""
        child = subprocess.Popen(
            words, env=self.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            out, err = child.communicate(timeout=timeout)
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)  # mariadb-install-db is a script, whose children would go on
            child.communicate()
            raise
        if child.returncode:
            raise ClusterError(f"{shlex.join(words)}: exit status {child.returncode}\n{out}{err}")
        return out

    def jobs(self) -> list[Job]:
        """Every job and array task of the last five minutes; a pending one has no node."""
        lines = self.run("squeue", "-h", "-r", "-t", "all", "-o", "%i|%T|%N").splitlines()
        return [Job(*line.split("|")) for line in lines]

    def daemons(self) -> list[tuple[str, bool]]:
        """The name of every daemon that was started, and whether it is alive."""
        names = sorted(path.stem for path in (self.folder / "run").glob("*.pid"))
        return [(name, self._pid(name) is not None) for name in names]

    def kill_node(self, node: int | str, noticed: bool = False) -> None:
        """The loss of a machine: its slurmd and all processes of the jobs on it are gone with nothing said.

        SLURM takes half a minute to notice and requeue the jobs; with noticed, it is told at once.
        """
        name = _name(node)
        self._stop(name, signal.SIGKILL)
        while pids := self._job_processes(name):  # again for those born meanwhile
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        if noticed:
            self._mark_down(name)

    def start_node(self, node: int | str) -> None:
        """Brings a lost machine back and returns when it can take jobs."""
        name = _name(node)
        if self._pid(name) is None and self._usable(name):
            # Measured: SLURM goes on believing in a young job that a node lost and came back without.
            self._mark_down(name)
        self._start_slurmd(name)
        self._await(name, partial(self._usable, name))

    def _mark_down(self, name: str) -> None:
        self.run("scontrol", "update", f"NodeName={name}", "State=DOWN", "Reason=lost")

    def _claim(self) -> None:
        if len(str(self.folder)) > 60:
            raise ClusterError(f"{self.folder} is too long a path for the sockets in it; 60 characters are the limit")
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / MARK).exists() and any(self.folder.iterdir()):
            raise ClusterError(f"{self.folder} holds other files; choose an empty folder")
        (self.folder / MARK).touch()

    def _configure(self) -> None:
        folder, me, host = self.folder, _me(), socket.gethostname().split(".")[0]
        port = self.port or _free_ports(self.nodes + 2)
        names = [f"node{n}" for n in range(1, self.nodes + 1)]
        for name in ("run", "log", "munge", "ctld", "dev", *(f"spool.{name}" for name in names)):
            (folder / name).mkdir(exist_ok=True)
        folder.chmod(0o755)  # munged refuses a socket that others cannot reach
        slurm = f"""\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={me}
SlurmdUser={me}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/ctld
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/run/slurmctld.own
SlurmdPidFile={folder}/run/%n.own
SlurmdParameters=config_overrides
SlurmdTimeout=10
MessageTimeout=5
ReturnToService=2
Epilog={folder}/epilog
MailProg=/bin/true
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU={self.mem // self.cpus}
SchedulerParameters=sched_min_interval=100000,batch_sched_delay=0,sched_interval=2,bf_interval=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
KillWait=5
MinJobAge=300
InactiveLimit=0
MaxArraySize={self.max_array_size}
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port + 1}
AccountingStoragePass={folder}/munge/socket
AccountingStorageTRES=gres/gpu
GresTypes=gpu
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1 GraceTime={self.grace}
PartitionName=urgent Nodes=ALL MaxTime=INFINITE PriorityTier=2 PreemptMode=OFF
"""
        size = f"CPUs={self.cpus} RealMemory={self.mem} Gres=gpu:{self.gpus}"
        for at, name in enumerate(names, port + 2):
            slurm += f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={at} {size} State=UNKNOWN\n"
        gres = "AutoDetect=off\n"
        for gpu in range(self.gpus):
            device = folder / "dev" / f"gpu{gpu}"
            if not device.is_symlink():
                device.symlink_to("/dev/null")
            # Without a device file SLURM counts GPUs but does not tell them apart.
            gres += "".join(f"NodeName={name} Name=gpu Flags=nvidia_gpu_env File={device}\n" for name in names)
        accounting = f"""\
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={port + 1}
SlurmUser={me}
PidFile={folder}/run/slurmdbd.own
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser={me}
StorageLoc=slurm
CommunicationParameters=NoInAddrAny
"""
        (folder / "slurm.conf").write_text("".join([slurm, *(f"{line}\n" for line in self.extra)]))
        (folder / "epilog").write_text(EPILOG)
        (folder / "epilog").chmod(0o755)
        (folder / "gres.conf").write_text(gres)
        (folder / "cgroup.conf").write_text("CgroupAutomount=no\n")
        _write_secret(folder / "slurmdbd.conf", accounting.encode())
        _write_secret(folder / "munge.key", os.urandom(128))

    def _start_slurmd(self, name: str) -> None:
        # In the environment for the sake of _job_processes, which sees a slurmstepd just born by it.
        self._start(name, "env", f"SLURMD_NODENAME={name}", "slurmd", "-D", "-N", name)

    def _start(self, name: str, *words: str) -> None:
        if self._pid(name) is not None:
            return
        env = {**self.env(), "MYSQL_UNIX_PORT": f"{self.folder}/mysql.sock"}
        with (self.folder / "log" / name).open("ab") as log:
            child = subprocess.Popen(
                words, env=env, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self._children.append(child)
        (self.folder / "run" / f"{name}.pid").write_text(f"{child.pid} {_started(child.pid)}")

    def _stop(self, name: str, with_signal: signal.Signals) -> None:
        deadline = time.monotonic() + 15
        while (pid := self._pid(name)) is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, with_signal)
            with_signal = signal.SIGKILL
            while self._pid(name) is not None and time.monotonic() < deadline:
                time.sleep(0.02)
        self._children = [child for child in self._children if child.poll() is None]

    def _pid(self, name: str) -> int | None:
        """The daemon's pid, if that is still the process that was started and not a later one of the same number."""
        try:
            pid, started = (self.folder / "run" / f"{name}.pid").read_text().split()
        except (FileNotFoundError, ValueError):
            return None
        return int(pid) if _started(int(pid)) == started else None

    def _await(self, name: str, ready: Callable[[], bool]) -> None:
        with suppress(TimeoutError):
            until(lambda: self._pid(name) is None or ready(), 60, every=0.1)
            if self._pid(name) is not None:
                return
        tail = "\n".join((self.folder / "log" / name).read_text(errors="replace").splitlines()[-20:])
        raise ClusterError(f"{name} did not come up; its log ends with\n{tail}")

    def _works(self, *words: str) -> bool:
        try:
            self.run(*words, timeout=5)
        except (ClusterError, subprocess.TimeoutExpired):
            return False
        return True

    def _usable(self, node: int | str) -> bool:
        state = self.run("sinfo", "-hN", "-n", _name(node), "-p", "main", "-o", "%T").strip()
        return state in ("idle", "mixed", "allocated", "completing")

    def _job_processes(self, node: str) -> list[int]:
        """Every process of a node's jobs, slurmstepd first, which would report the end of those it watches."""
        sockets = self._sockets(node)
        marks = {f"SLURM_CONF={self.folder}/slurm.conf".encode(), f"SLURMD_NODENAME={node}".encode()}
        watchers, others, children = [], [], dict[int, list[int]]()
        for pid in [int(path.name) for path in Path("/proc").glob("[0-9]*")]:
            with suppress(OSError):  # it ended, or belongs to someone else
                proc = Path(f"/proc/{pid}")
                state, parent = (proc / "stat").read_text().rpartition(")")[2].split()[:2]
                if state == "Z":
                    continue
                children.setdefault(int(parent), []).append(pid)
                marked = marks <= set((proc / "environ").read_bytes().split(b"\0"))
                if (proc / "comm").read_text() != "slurmstepd\n":
                    others += [pid] if marked else []
                # It writes its title over the environment, but listens in the node's spool folder.
                elif marked or sockets & _open_files(pid):
                    watchers.append(pid)
        known = dict.fromkeys([*watchers, *others])
        for pid in (queue := list(known)):
            queue += (new := [child for child in children.get(pid, ()) if child not in known])
            known.update(dict.fromkeys(new))
        return list(known)

    def _sockets(self, node: str) -> set[str]:
        lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()]
        spool = f"{self.folder}/spool.{node}/"
        return {f"socket:[{line[6]}]" for line in lines if len(line) > 7 and line[7].startswith(spool)}


def until(ready: Callable[[], bool], seconds: float, every: float = 0.2) -> None:
    """Waits for a condition; TimeoutError if it does not come in time."""
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not in {seconds:g} s")
        time.sleep(every)


def _install() -> None:
    def apt(*words: str) -> int:
        env = ["env", "DEBIAN_FRONTEND=noninteractive"]
        sudo = [] if os.getuid() == 0 else ["sudo"]
        command = [*sudo, *env, "apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", *words]
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr).returncode

    query = ["dpkg-query", "-Wf", "${Package} ${db:Status-Status}\n", *PACKAGES]
    known = subprocess.run(query, capture_output=True, text=True).stdout.splitlines()
    missing = [package for package in PACKAGES if f"{package} installed" not in known]
    install = ("install", "-y", "--no-install-recommends", *missing)
    if missing and apt(*install) and (apt("update") or apt(*install)):
        raise ClusterError(f"apt-get could not install {', '.join(missing)}")


def _free_ports(count: int) -> int:
    """The first of some ports in a row, below those that the kernel gives to clients."""
    for _ in range(100):
        first = random.randrange(20000, 32000)
        with ExitStack() as held, suppress(OSError):
            for port in range(first, first + count):
                held.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first
    raise ClusterError(f"no {count} free ports in a row")


def _started(pid: int) -> str | None:
    """When a process started, in clock ticks; None if it is gone or only waits to be reaped."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else fields[19]


def _open_files(pid: int) -> set[str]:
    targets = set()
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            targets.add(str(path.readlink()))
    return targets


def _name(node: int | str) -> str:
    return f"node{node}" if isinstance(node, int) else node


def _me() -> str:
    return pwd.getpwuid(os.getuid()).pw_name


def _write_secret(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("up", "down", "status", "env"))
    parser.add_argument("--folder", type=Path, default=DEFAULT_FOLDER, help="where it lives (%(default)s)")
    chosen = parser.parse_args()
    cluster = Cluster(chosen.folder.absolute())
    try:
        if chosen.action == "up":
            cluster.up()
        if chosen.action == "down":
            cluster.down()
        if chosen.action in ("up", "status"):
            daemons = cluster.daemons()
            print("\n".join(f"{name:10} {'up' if alive else 'down'}" for name, alive in daemons) or "not started")
            if not daemons or not all(alive for _, alive in daemons):
                return 3
            print(cluster.run("sinfo", "-N", "-o", "%N %P %T %c CPUs %m MB %G") + cluster.run("squeue"), end="")
        if chosen.action == "env":
            print(f"export SLURM_CONF={shlex.quote(cluster.env()['SLURM_CONF'])}")
    except ClusterError as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
