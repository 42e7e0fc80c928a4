"""What pages share: addresses, fields, background computing, figures, words, the frame."""
