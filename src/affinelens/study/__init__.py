"""The paper's experiments, one command each: train, count, and put our numbers beside the paper's.

Nothing here imports torch until a study is run.
"""

from affinelens.study.running import StudyProgress, names, run

__all__ = ["StudyProgress", "names", "run"]
