"""The paper's experiments, one command each: train, count, and put our numbers beside the paper's.

Nothing here imports torch until a study is run.
"""

from affinelens.study.compare import Comparison, compare
from affinelens.study.study_run import StudyProgress, names, run

__all__ = ["Comparison", "StudyProgress", "compare", "names", "run"]
