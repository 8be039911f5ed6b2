"""Leftovers: those of the dead are removed, those of the living are not."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from bertxfer.system.leftovers import remove_cards, remove_temporaries
from bertxfer.system.processes import whoami

WRITES = """
import sys, time
from pathlib import Path
from bertxfer.system.files import write_whole

def slowly(path):
    path.write_text("half")
    print(path, flush=True)
    time.sleep(600)

write_whole(Path(sys.argv[1]), slowly)
"""


def writer(path: Path) -> tuple["subprocess.Popen[str]", Path]:
    """A process in the midst of writing a file, and the temporary name that it has until then."""
    process = subprocess.Popen([sys.executable, "-c", WRITES, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_half_written_file_goes_when_its_writer_is_gone_and_not_before(tmp_path: Path) -> None:
    (one, of_one), (two, of_two) = writer(tmp_path / "state.pt"), writer(tmp_path / "state.pt")
    try:
        for path in (of_one, of_two):
            os.utime(path, (0, 0))  # however long it takes
        one.send_signal(signal.SIGKILL)
        one.wait()
        remove_temporaries(tmp_path, time.time())
        assert not of_one.exists()
        assert of_two.exists()
    finally:
        two.kill()
        two.wait()
    remove_temporaries(tmp_path, 0)
    assert not of_two.exists()


def test_what_another_machine_left_goes_by_its_age(tmp_path: Path) -> None:
    names = (".state.pt.00000000-1-1.abc.tmp", ".result.json.abc.tmp", ".model.xyz.tmp")
    for name in names[:2]:
        (tmp_path / name).write_text("half")
    (tmp_path / names[2]).mkdir()
    (tmp_path / "state.pt").write_text("whole")
    now = time.time()
    remove_temporaries(tmp_path, now - 60)
    assert len(list(tmp_path.iterdir())) == 4
    remove_temporaries(tmp_path, now + 60)
    assert [path.name for path in tmp_path.iterdir()] == ["state.pt"]


def test_cards_of_workers_that_are_gone(tmp_path: Path) -> None:
    mine = {"worker": whoami()}
    cards = {
        "living": mine,
        "dead": {"worker": {**whoami(), "pid_started": 1}},
        "elsewhere": {"worker": {**whoami(), "host": "elsewhere"}},
        "silent": {"worker": {**whoami(), "host": "elsewhere"}},
    }
    for name, content in cards.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    (tmp_path / "damaged.json").write_bytes(b'{"worker\xff')
    os.utime(tmp_path / "silent.json", (0, 0))
    remove_cards(tmp_path, time.time() - 60)
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["damaged", "elsewhere", "living"]
