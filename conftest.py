"""The package is imported before pytest imports its modules for their examples.

Otherwise pytest puts the packages ``affinelens.network``, ``track`` and ``verify`` where the functions of these names
belong.
"""

import affinelens  # noqa: F401
