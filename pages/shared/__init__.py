"""What pages share: inputs, background computing, figures, words, panels."""
