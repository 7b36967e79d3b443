"""What pytest compares when it runs the notebooks; nothing to learn here."""


def pytest_collectstart(collector):
    """Leave out of the comparison what differs on every run: warnings and the ids inside an SVG."""
    if hasattr(collector, "skip_compare"):  # the notebook files of nbval, and only they
        collector.skip_compare += ("stderr", "image/svg+xml")
