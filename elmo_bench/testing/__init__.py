"""Contracts of plug-ins, to be called from any package's tests; a violation raises an AssertionError.

>>> from elmo_bench.testing import check_encoder
>>> check_encoder(MyEncoder(pooling="first"), variants=[MyEncoder(pooling="last")])   # doctest: +SKIP
>>> from elmo_bench.testing import check_task
>>> check_task(MyTask(tags="fine"), examples)   # doctest: +SKIP
"""

from elmo_bench.testing.encoders import check_encoder
from elmo_bench.testing.tasks import check_task

__all__ = ["check_encoder", "check_task"]
