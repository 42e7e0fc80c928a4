"""What a service needs around the pages: configuration, the log, figures for monitoring, headers in front."""
