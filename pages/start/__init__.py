"""The page "Start": which question a visitor has."""
