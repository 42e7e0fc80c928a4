"""Parts of the page "What ε and δ mean": one mechanism, looked at from many sides, one topic at a time.

The picture of a topic finds the mechanism under "law" among its values: a `laws.Law`.
"""
