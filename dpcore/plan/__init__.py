"""From columns to released numbers: what is public, what is asked, the noise, the budget, the release.

`public` holds what the user states about people and columns; nothing there is read from the data. `statistics` turns a
question into sums of whole numbers, each with the most that one person can change. `law` and `budget` choose the noise;
`source` reads the data; `release` draws and keeps the ledger; `files` is the plan as TOML.
"""
