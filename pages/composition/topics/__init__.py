"""The topics of the page, one folder each."""

from pages.lessons.topic import gathered

TOPICS = gathered(__name__)
