"""Where pings come from: `read_pings` reads the field's formats, `write_synthetic` makes a city up.

`layouts` says what the known datasets look like, `csv_files` opens text, `timestamps` makes instants of whatever they
call a time. Before any row is read, `headers` and `footers` compare all files, looking by `glances`.
`synth` runs the generators on Spark. They are NumPy: `power_law` says how many pings a person has, `mixture`
is the paper's, and a city is made of `ground`, `terrain`, `city`, `roads`, `rhythm`, `people`, in this order.
"""

from vdr_spark.data.readers import read_pings
from vdr_spark.data.synth import synthesize, write_synthetic

__all__ = ["read_pings", "synthesize", "write_synthetic"]
