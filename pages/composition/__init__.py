"""The page "Composition": what several releases reveal together. One module per topic (see `pages.lessons.topic`)."""
