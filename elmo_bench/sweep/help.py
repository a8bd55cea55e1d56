"""The help of run.py and pretrain.py."""

from __future__ import annotations

from collections.abc import Mapping

from elmo_bench.catalog import list_choices
from elmo_bench.directories import CONF, directories

FLAGS = """Flags:

  -m, --multirun           a sweep: every combination of the values that commas separate
  -cd, --config-dir DIR    your own tasks, encoders, corpora and experiments; may be repeated
  -c, --cfg job|hydra|all  print the configuration of one job, and start nothing
  -p, --package KEY        with --cfg: print only this part of it
  --resolve                with --cfg: print values in place of ${KEY}
  -i, --info [WHAT]        what Hydra knows: all, config, defaults, defaults-tree, plugins or searchpath
  -sc, --shell-completion  install=bash, fish or zsh: print what completes words there
  -h, --help               print this"""


def describe_usage(usage: str, groups: Mapping[str, str]) -> str:
    """How to use the script, the choices of its groups by the words of the command line, and its flags.

    Whatever group a directory of the user has in addition is among them.
    """
    ours = {path.name for path in CONF.iterdir()}
    others = {path.parent.name for root in directories()[1:] for path in root.glob("*/*.yaml")} - ours
    chosen = {**groups, **{group: group for group in sorted(others)}}
    lines = [f"  {word:17} {' '.join(sorted(list_choices(group)))}" for word, group in chosen.items()]
    return "\n".join([usage.strip(), "", *lines, "", FLAGS])
