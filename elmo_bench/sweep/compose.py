"""From overrides to values: Hydra composes the files of `conf`, of installed packages and of the user."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import hydra
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import ConfigRepository
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from hydra.core.plugins import Plugins
from hydra.errors import HydraException, OverrideParseException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict, read_write
from omegaconf.errors import OmegaConfBaseException
from yaml import MarkedYAMLError

from elmo_bench.catalog import add_corpora, check_encoding, check_names, explain_yaml
from elmo_bench.commands import spell_run
from elmo_bench.conditions import choose_encoder, is_untrained, trained_name
from elmo_bench.config import PathsConfig, nearest, read_config
from elmo_bench.directories import CONF, directories
from elmo_bench.types import UsageError

MACHINE = "machine"  # conf/machine.yaml: the paths alone
OPTIONS_FILE = "options.json"  # a directory with this file is a model
PROVIDER = "elmo_bench"
REQUIRED = {"config": "task", "finetune": "task", "pretrain": "bilm"}  # without a default, by primary file
SPOKEN = {("finetune", "task"): "finetune"}  # groups with another name on the command line
SWEPT = "-m +experiment=NAME starts the sweep of a file of conf/experiment"
ELSEWHERE = {  # by primary file and key: what a key of another script or group is here
    ("config", "experiment"): SWEPT,
    ("finetune", "experiment"): SWEPT,
    ("pretrain", "experiment"): SWEPT,
    ("config", "bilm"): "bilm@encoder.bilm=NAME changes the biLM of encoder=sample",
    ("finetune", "bilm"): "bilm@encoder.bilm=NAME changes the biLM of encoder=sample",
    ("pretrain", "task"): "encoder=NAME finetune=TASK trains a biLM on with the text of a task",
    ("pretrain", "encoder"): "encoder=NAME finetune=TASK trains a biLM on with the text of a task",
}
SEED = "seed"
ENCODER = "encoder"
EXPERIMENT = "experiment"  # the group of named sweeps


class RegisteredDirectories(SearchPathPlugin):
    """Adds the directories of installed packages and of the user to Hydra's search path."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for directory in directories()[1:]:  # the first is ours
            search_path.append(PROVIDER, f"file://{directory}")


class Groups(ConfigRepository):
    """The files to choose from; only a directory with such a file is a group.

    Hydra takes every directory for one. `corpus/ner/NAME.yaml` of a user would make corpus=DIR of pretrain.py
    a choice of a file, and a directory `limit` or `seed` would hide that key.
    """

    def group_exists(self, config_path: str) -> bool:
        return bool(self.get_group_options(config_path))


class Composer:
    """Composes configurations; valid inside `open_composer`."""

    def __init__(self, loader: ConfigLoaderImpl) -> None:
        self.loader = loader
        self._load_job_once = cache(self._load_job)

    def parse(self, words: Sequence[str]) -> list[Override]:
        """Overrides by Hydra's grammar; plain text that it does not know, such as Müller.conll, is quoted."""
        parser = OverridesParser.create(config_loader=self.loader)
        return [_parse_word(parser, word) for word in words]

    def refuse_repeated(self, words: Sequence[str], can_sweep: bool = True) -> None:
        """Raise UsageError if a key is given two values, of which Hydra would take the last in silence."""
        given: dict[str, str] = {}
        for override in self.parse(words):
            word = override.input_line or ""
            earlier = given.setdefault(override.get_key_element().lstrip("+~"), word)
            if earlier != word:
                hint = f" (a sweep over both: -m {override.key_or_group}=A,B)" if can_sweep else ""
                raise UsageError(f"{earlier} {word}: expected one of them{hint}")

    def require_single(self, words: Sequence[str]) -> None:
        """Raise UsageError for the words of a sweep, where one configuration is meant."""
        self.refuse_repeated(words, can_sweep=False)
        for override in self.parse(words):
            if override.is_sweep_override() or override.key_or_group == EXPERIMENT:
                raise UsageError(
                    f"{override.input_line}: expected one value, got a sweep; `{spell_run([], sweep=True)}` "
                    f"takes sweeps{_if_text(override.input_line or '')}"
                )

    def load(self, name: str, overrides: Sequence[str], mode: RunMode = RunMode.RUN) -> DictConfig:
        """One composed configuration with Hydra's own section; raises UsageError if it is invalid."""
        try:
            words = self.translate(name, overrides)
            self._refuse_unknown(name, words)
            return self.loader.load_configuration(name, words, mode)
        except MarkedYAMLError as error:
            raise UsageError(explain_yaml(error)) from None
        except UnicodeDecodeError:
            check_encoding()
            raise
        except (HydraException, OmegaConfBaseException, ValueError) as error:
            raise UsageError(self._explain(error, name, overrides)) from None

    def values(self, name: str, overrides: Sequence[str]) -> dict[str, Any]:
        """The resolved plain values of a job."""
        return self.resolve(name, self.load(name, overrides))

    def job_values(self, name: str, overrides: Sequence[str]) -> dict[str, Any]:
        """The values of one job of a sweep; jobs that differ in their seed alone are composed once."""
        seeds: list[Override] = []
        others: list[str] = []
        for override in self.parse(overrides):
            if override.key_or_group == SEED and override.type is OverrideType.CHANGE:
                seeds.append(override)
            else:
                others.append(override.input_line or "")
        composed, default = self._load_job_once(name, tuple(others))
        if SEED in composed or seeds:
            composed[SEED] = seeds[-1].value() if seeds else default
        return _resolve(composed)

    def _load_job(self, name: str, overrides: Sequence[str]) -> tuple[DictConfig, Any]:
        """A composed configuration without Hydra's own section, and its seed."""
        composed = self.load(name, overrides)
        self._strip(name, composed)
        return composed, composed.get(SEED)

    def translate(self, name: str, overrides: Sequence[str]) -> list[str]:
        """Overrides as Hydra understands them, for GROUP=null and encoder=untrained_NAME, too."""
        words = [
            word
            for override in self.parse(overrides)
            for word in self._read_twin(override) or [self._without_null(name, override)]
        ]
        return [word for word in words if word]

    def resolve(self, name: str, composed: DictConfig) -> dict[str, Any]:
        """A composed configuration as plain values, without Hydra's own part."""
        self._strip(name, composed)
        return _resolve(composed)

    def _strip(self, name: str, composed: DictConfig) -> None:
        """Remove Hydra's own section."""
        self._require_choice(name, composed)
        with read_write(composed), open_dict(composed):
            composed.pop("hydra")

    def choices(self, group: str) -> list[str]:
        """The names that a group offers."""
        return sorted(self.loader.get_group_options(group, ObjectType.CONFIG))

    def _require_choice(self, name: str, composed: DictConfig) -> None:
        """Some groups have no default."""
        if (group := REQUIRED.get(name)) and group not in composed:
            raise UsageError(self._ask_for(name, group))

    def _without_null(self, name: str, override: Override) -> str:
        """Translate GROUP=null to ~GROUP, the form that Hydra knows; drop it if null is the default."""
        word, group = override.input_line or "", override.key_or_group
        if override.is_delete() or override.is_sweep_override() or not self.is_group(override):
            return word
        value = override.value()
        if value is None:
            return "" if group == REQUIRED.get(name) else f"~{group}"
        if not isinstance(value, str | list):  # debug=true
            raise UsageError(f"{word}: there is no such choice (there are: {', '.join(self.choices(group))})")
        return word

    def _read_twin(self, override: Override) -> list[str]:
        """The overrides that encoder=untrained_NAME stands for; none where it stands for itself."""
        value = override.value()
        if override.key_or_group != ENCODER or not isinstance(value, str) or not is_untrained(value):
            return []
        known = self.choices(ENCODER)
        return choose_encoder(value) if value not in known and trained_name(value) in known else []

    def _refuse_unknown(self, name: str, words: Sequence[str]) -> None:
        """Raise UsageError for a choice that does not exist; of an optional group Hydra ignores it."""
        for override in self.parse(words):
            if override.is_delete() or override.is_sweep_override() or not self.is_group(override):
                continue
            group, choice = override.key_or_group, override.value()
            if (
                isinstance(choice, str)
                and re.fullmatch(r"\w[\w-]*", choice)
                and choice not in self.choices(group)
            ):
                raise UsageError(self._no_choice(name, group, choice))

    def _no_choice(self, name: str, group: str, choice: str) -> str:
        names = self.choices(group)
        hint, spoken = nearest(choice, names), SPOKEN.get((name, group), group)
        return f"{spoken}={choice}: there is no such choice{hint} (there are: {', '.join(names)})"

    def _ask_for(self, name: str, group: str) -> str:
        names, spoken = self.choices(group), SPOKEN.get((name, group), group)
        article = "an" if group[0] in "aeiou" else "a"
        return f"choose {article} {group}: {spoken}={names[0]} (there are: {', '.join(names)})"

    def _explain(self, error: Exception, name: str, overrides: Sequence[str]) -> str:
        """Hydra's message in one or two lines, with the nearest name that exists."""
        message = str(error)
        if match := re.search(r"Could not find '([\w@/]+)/([^'/]*)'", message):
            return self._no_choice(name, match[1], match[2])
        if match := re.search(r"You must specify '([^']+)'", message):
            return self._ask_for(name, match[1])
        if (match := re.search(r"Could not override '([^']+)'", message)) and (name, match[1]) in ELSEWHERE:
            return f"{match[1]}: there is no such key; {ELSEWHERE[name, match[1]]}"
        if match := re.search(r"Could not (?:override|delete from config\.) '([^']+)'", message):
            try:
                composed = self._compose_choices(name, overrides)
            except HydraException:
                return f"{match[1]}: there is no such key"
            if match[1].partition(".")[0] in composed or match[1].startswith(f"{REQUIRED.get(name)}."):
                self._require_choice(name, composed)  # the key may belong to the missing choice
            known = [*_dotted(composed), REQUIRED.get(name, "")]
            return f"{match[1]}: there is no such key{nearest(match[1], known)}"
        return shorten(error)

    def known_keys(self, name: str, overrides: Sequence[str]) -> set[str]:
        """Every key that the chosen files have; raises HydraException where one of them does not exist."""
        return set(_dotted(self._compose_choices(name, overrides)))

    def _compose_choices(self, name: str, overrides: Sequence[str]) -> DictConfig:
        """The configuration that the chosen groups compose, before any value is overridden."""
        kept = [override.input_line for override in self.parse(overrides) if self.is_group(override)]
        return self.loader.load_configuration(name, [word for word in kept if word], RunMode.MULTIRUN)

    def is_group(self, override: Override) -> bool:
        """Whether an override chooses a file of a group instead of changing a value."""
        return bool(self.loader.get_group_options(override.key_or_group, ObjectType.CONFIG))


@contextmanager
def open_composer(overrides: Sequence[str] = ()) -> Iterator[Composer]:
    """Prepare Hydra for the registered directories and for the models under `paths.models`."""
    check_names()
    Plugins.instance().register(RegisteredDirectories)
    try:
        opened = hydra.initialize_config_dir(str(CONF), version_base=None)
    except HydraException as error:
        raise UsageError(shorten(error)) from None
    with opened:
        loader = GlobalHydra.instance().config_loader()
        assert isinstance(loader, ConfigLoaderImpl)
        loader.repository = Groups(loader.get_search_path())
        composer = Composer(loader)
        _offer_models(composer, read_paths(composer, overrides))
        yield composer


def compose(overrides: Sequence[str], name: str = "config", defaults: Sequence[str] = ()) -> dict[str, Any]:
    """The values that run.py would pass to a job for these overrides, which take precedence over defaults."""
    with open_composer(overrides) as composer:
        composer.require_single(overrides)
        return composer.values(name, [*defaults, *overrides])


def compose_paths(overrides: Sequence[str]) -> PathsConfig:
    """The paths of this machine, for commands that read nothing else of a configuration."""
    with open_composer() as composer:
        composer.require_single(overrides)
        return read_config(PathsConfig, composer.values(MACHINE, overrides)["paths"], "paths")


def read_paths(composer: Composer, overrides: Sequence[str]) -> PathsConfig:
    """The paths that the overrides set; overrides of other values are ignored."""
    words = [
        override.input_line or ""
        for override in composer.parse(overrides)
        if override.key_or_group.startswith("paths.") and not override.is_sweep_override()
    ]
    return read_config(PathsConfig, composer.values(MACHINE, words)["paths"], "paths")


def _offer_models(composer: Composer, paths: PathsConfig) -> None:
    """Make encoder=NAME mean the directory NAME under paths.models, unless a file has that name."""
    known = composer.choices(ENCODER)
    model = OmegaConf.to_container(OmegaConf.load(CONF / "encoder" / "model.yaml"))
    assert isinstance(model, dict)
    for options in sorted(paths.models.glob(f"*/{OPTIONS_FILE}")):
        name = options.parent.name
        if name not in known:
            directory = f"${{paths.models}}/{name}"
            node = {**model, "name": name, "directory": directory, "named_after": None}
            ConfigStore.instance().store(name, node, group=ENCODER, provider=PROVIDER)


def quote(word: str) -> str:
    """A value that Hydra's grammar takes as it is."""
    # A backslash escapes only a quotation mark, and then itself too.
    escaped = re.sub(r"(\\+)$", r"\1\1", re.sub(r"(\\*)'", r"\1\1\\'", word))
    return f"'{escaped}'"


def _parse_word(parser: OverridesParser, word: str) -> Override:
    """One override; its value is taken as it is where the grammar lacks a character of it."""
    quoted = _quote_value(word)
    try:
        return parser.parse_overrides([word])[0]
    except OverrideParseException:
        if not _parses(parser, quoted):  # the key is wrong
            raise UsageError(f"{word}: expected KEY=VALUE, such as task=ner") from None
        if _is_plain(parser, word.partition("=")[2]):
            return parser.parse_overrides([quoted])[0]
        raise UsageError(f"{word}: expected {_expected(word)}") from None


def _if_text(word: str) -> str:
    """How to give a value with a comma in it that may be the name of a file."""
    return f"; a value that is text is given as {_in_shell(word)}" if "," in word and "/" in word else ""


def _quote_value(word: str) -> str:
    key, equals, value = word.partition("=")
    return f"{key}={quote(value)}" if equals else word


def _parses(parser: OverridesParser, word: str) -> bool:
    try:
        return bool(parser.parse_overrides([word]))
    except OverrideParseException:
        return False


def _is_plain(parser: OverridesParser, value: str) -> bool:
    """Whether a value can only be meant as text: no list, sweep, function or home directory gone wrong."""
    is_function = value.partition("(")[0] in parser.functions.functions
    return not is_function and not value.startswith("~") and not re.search(r"""['"\[\]{},=]""", value)


def _expected(word: str) -> str:
    """What a word should look like whose value Hydra's grammar does not know."""
    key, _, value = word.partition("=")
    if value.startswith("="):
        return "KEY=VALUE, such as task=ner"
    if value.startswith("~/"):
        return f'the whole path, as the shell replaces no ~ there: {shlex.join([key])}="$HOME"{value[1:]}'
    if "=" in value:
        return (
            "quotes around a value that has = in it, such as \"KEY=['task=ner','seed=1']\" or "
            f"{_in_shell(word)}"
        )
    each = ", in a sweep around each of them" if "," in value else ""
    return f"quotes around a value that is text{each}: {_in_shell(word)}"


def _in_shell(word: str) -> str:
    """The override with its value in quotes, as it is typed in a shell."""
    quoted = _quote_value(word)
    return shlex.quote(quoted) if re.search(r'["$`\\!]', quoted) else f'"{quoted}"'


def _resolve(composed: DictConfig) -> dict[str, Any]:
    try:
        return to_values(composed)
    except OmegaConfBaseException as error:
        raise UsageError(shorten(error)) from None


def to_values(composed: DictConfig) -> dict[str, Any]:
    """Resolved plain values; a task includes the corpora that other files add to it."""
    container = OmegaConf.to_container(composed, resolve=True, throw_on_missing=True)
    assert isinstance(container, dict)
    values = {str(key): value for key, value in container.items()}
    if isinstance(task := values.get("task"), dict) and "sources" in task:
        values["task"] = add_corpora(task)
    return values


def shorten(error: Exception) -> str:
    """The first line of an error message of Hydra or OmegaConf, with the key that caused the error."""
    lines = str(error).splitlines() or [type(error).__name__]
    key = next((line.partition("full_key:")[2].strip() for line in lines if "full_key:" in line), "")
    if match := re.match(r"(?:Ambiguous value for argument|Sweep parameters) '([^']+)'", lines[0]):
        return f"{match[1]}: several values are a sweep: add -m{_if_text(match[1])}"
    if match := re.match(r"Interpolation key '([^']+)' not found", lines[0]):
        return f"{match[1]}: a value is needed" + (f" ({key} reads it)" if key else "")
    if lines[0].startswith("Missing mandatory value"):
        return f"{key}: a value is needed; give {key}=..."
    return f"{key}: {lines[0]}" if key and key not in lines[0] else lines[0]


def _dotted(values: Mapping[Any, Any], prefix: str = "") -> Iterator[str]:
    """Every key of a composed configuration, dotted."""
    if isinstance(values, DictConfig):
        values = OmegaConf.to_container(values, resolve=False)  # type: ignore[assignment]
    for key, value in values.items():
        yield f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _dotted(value, f"{prefix}{key}.")
