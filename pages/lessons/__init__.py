"""What the Learn pages share: what a topic declares (`topic`), what is drawn of it (`screen`), and its pieces."""
