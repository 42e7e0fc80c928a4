"""Work in the background: questions, their answers in memory and on disk, whose turn it is, processes that compute."""
