"""No chart, only the tables that the block names."""

from bertxfer.report.kinds.kind import Kind

KIND = Kind("table", None, None, any_center=True)
