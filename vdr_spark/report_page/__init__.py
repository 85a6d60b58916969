"""The report: one HTML file that a data steward can read, sign and print, without a network, a script or the truth.

`page` puts it together from a release and what is known around it (`contents`); every part is a section of its own.
`png` and `charts` draw without any library; `markup` escapes every text that was not made here.
"""

from vdr_spark.report_page.contents import Contents, gather
from vdr_spark.report_page.page import report_page
from vdr_spark.report_page.shown import ShownReport

__all__ = ["Contents", "ShownReport", "gather", "report_page"]
