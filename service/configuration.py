"""The service's settings, all of them, read from environment variables once and checked at the start."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path

from dpcore._validate import in_range, whole
from dpcore.errors import InputError
from dpcore.store import default_folder

PREFIX = "DP_FRONTIER_"


@dataclass(frozen=True)
class Configuration:
    """Settings of the service; docs/operate.md describes each under `PREFIX` + its name in capitals.

    store : folder of finished results that outlive the process; None keeps them in memory only.
        Default: `dpcore.store.default_folder()`, in the user's cache folder.
    store_megabytes : most that the folder may hold.
    workers : processes that solve.
    seconds : longest time limit that a visitor may ask for, per solve.
    jobs_per_session : solves that one browser session may have waiting or running.
    address_length : longest address (path and query) that is answered, in bytes.
    log : "plain" leaves logging to the libraries; "json" prints one line per event, without user data.
    metrics : "host:port" where monitoring may ask; None for nowhere.
    uploads : a page takes tables of people's data where `service.uploads` finds no other barrier.
    """

    store: Path | None = field(default_factory=default_folder)
    store_megabytes: int = 256
    workers: int = 2
    seconds: float = 60.0
    jobs_per_session: int = 8
    address_length: int = 32_768
    log: str = "plain"
    metrics: tuple[str, int] | None = None
    uploads: bool = True


def read(environment: Mapping[str, str]) -> Configuration:
    """The configuration that the variables describe; variables that are empty or missing keep the default.

    Raises
    ------
    ConfigurationError : with one line for every variable that is unknown or whose value is not accepted.
    """
    known = {PREFIX + one.name.upper(): one.name for one in fields(Configuration)}
    values, faults = {}, []
    for name, text in environment.items():
        if not name.startswith(PREFIX) or not text.strip():
            continue
        try:
            if name not in known:
                raise InputError(name, text, "one of " + ", ".join(known))
            values[known[name]] = _READERS[known[name]](name, text.strip())
        except InputError as error:
            faults.append(str(error))
    if faults:
        raise ConfigurationError(sorted(faults))
    return Configuration(**values)


@cache
def current() -> Configuration:
    """The configuration of this process."""
    return read(os.environ)


class ConfigurationError(ValueError):
    """Some variables hold what is not accepted.

    Attributes
    ----------
    faults : list of str
        One line each, naming the variable, its value and what is accepted.
    """

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


def _folder(name: str, text: str) -> Path | None:
    if text.lower() == "off":
        return None
    path = Path(text)
    accepted = "off, or the absolute path of a folder that exists or can be made, and can be written to"
    try:
        if not path.is_absolute():
            raise InputError(name, text, accepted)
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK):
            raise InputError(name, text, accepted)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(name, text, accepted) from None
    return path


def _whole(low: int, high: int) -> Callable[[str, str], int]:
    return lambda name, text: whole(low, high, **{name: text})


def _word(*words: str) -> Callable[[str, str], str]:
    def read(name: str, text: str) -> str:
        if text not in words:
            raise InputError(name, text, " or ".join(words))
        return text

    return read


def _host_and_port(name: str, text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
        raise InputError(name, text, "HOST:PORT, such as 127.0.0.1:9464")
    return host.removeprefix("[").removesuffix("]"), int(port)


_READERS: dict[str, Callable[[str, str], object]] = {
    "store": _folder,
    "store_megabytes": _whole(1, 100_000),
    "workers": _whole(1, 64),
    "seconds": lambda name, text: in_range(1, 3600, **{name: text}),
    "jobs_per_session": _whole(2, 100),
    "address_length": _whole(1024, 60_000),
    "log": _word("plain", "json"),
    "metrics": _host_and_port,
    "uploads": lambda name, text: _word("on", "off")(name, text.lower()) == "on",
}
