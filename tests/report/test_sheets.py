"""CSV that a spreadsheet opens: numbers are numbers, and no text is a formula."""

import io

import pandas as pd

from bertxfer.report.sheets import csv


def test_what_a_spreadsheet_would_run_is_a_text() -> None:
    hostile = ["=cmd|' /C calc'!A0", "+1+cmd", "-2+3*cmd", "@SUM(A1)", "\tx", "\rx"]
    plain = ["sst2", "-", "-0.5", "+.5", "a=b", ""]
    table = pd.DataFrame({"=name": hostile + plain, "score": [-0.5] * 12, "kept": pd.Series([True] * 12)})
    read = pd.read_csv(io.StringIO(csv(table)), dtype=str, keep_default_na=False)
    assert list(read) == ["'=name", "score", "kept"]
    assert [name[:1] for name in read["'=name"][:6]] == ["'"] * 6
    assert list(read["'=name"][6:]) == plain
    assert set(read["score"]) == {"-0.5"} and set(read["kept"]) == {"True"}
