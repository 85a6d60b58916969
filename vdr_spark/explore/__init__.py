"""`vdr explore`: a page on this machine that shows a release, and a small server that answers it.

Nothing but released tables is read, so looking costs no privacy. `serve` listens on 127.0.0.1, `guard` keeps every
other origin out, `routes` turns a request into a response without a socket, `answers` are the library's own; `static/`
is the page, built from `explorer/`.
"""
