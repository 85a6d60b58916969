"""The paper's experiments: sweeps of settings over several draws of the noise, on pings whose truth is known.

`vdr experiment NAME` runs one of `conf/experiments`. An experiment is a configuration (`settings`): a sweep of settings
and a kind of point. A point (`points`) is one setting and one draw: it makes a release in memory, by our denoisers or
by a published baseline (`draws`), of a real file or of a generated city (`location_data`, `places`), and `measures`
say how far it is from the truth. The `runner` does the points that are not done yet. What they found becomes a
table (`tables`), a picture (`pictures`) and a paragraph (`words`), the last made of the numbers alone.

Noise here is seeded, and every figure is exact about the data. NOTHING HERE IS A PROTECTED RELEASE.
"""
