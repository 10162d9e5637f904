"""The tests of scikit-learn that are not run against ours, each by the start of its name, and why."""

LEFT_OUT: dict[str, str] = {}
