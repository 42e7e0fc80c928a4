"""Parts of the page "What ε and δ mean": one mechanism, looked at from nine sides, one topic at a time.

A topic is a module of `topics/` that ends in TOPIC = Topic(…), as for the mechanism gallery (see
`pages.mechanism_gallery`), and is listed in `topics/__init__.py`. Its `picture` finds the mechanism under "law" among
its values: a `laws.Law`. Texts are the sections "<name>: in 60 seconds", "<name>: picture", …, of
assets/what_epsilon_means.md.
"""
