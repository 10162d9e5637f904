"""Where the pictures of the examples go."""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "fenchel"  # the same picture in every run

import matplotlib.pyplot as plt  # noqa: E402


def save(name: str) -> None:
    """Saves the current picture beside the examples, or in the folder of the command line."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    plt.tight_layout()
    plt.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close()
