"""What a service needs around the pages: configuration, the log, figures for monitoring, the gate in front."""
