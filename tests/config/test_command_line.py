"""The words of the command line."""

import pytest

from bertxfer.config.command_line import in_order


@pytest.mark.parametrize(
    ("typed", "understood"),
    [
        ("a=1 -m b=range(3)", "-m a=1 b=range(3)"),
        ("a=1 --cfg job b=2", "--cfg job a=1 b=2"),
        ("a=1 -c job b=2 -m", "-c job -m a=1 b=2"),
        ("a=1 --info b=2", "--info a=1 b=2"),
        ("a=1 --info defaults b=2", "--info defaults a=1 b=2"),
        ("-m seed=0..9", "-m seed=range(0,10)"),
        ("-m data.n=5..5", "-m data.n=range(5,6)"),
        ("analysis=weights,attention", "analysis=[weights,attention]"),
        ("runtime.track=tensorboard keep=null", "runtime.track=[tensorboard] keep=null"),
        ("-m k=0..L layer=L-1..L head=1..3", "-m k=choice(0..L) layer=choice(L-1..L) head=range(1,4)"),
        ("name=1..L k=L k=0..M", "name=1..L k=L k=0..M"),
        ("name=a..b +x=1 ~y", "name=a..b +x=1 ~y"),
    ],
)
def test_flags_come_first(typed: str, understood: str) -> None:
    assert in_order(typed.split()) == understood.split()
