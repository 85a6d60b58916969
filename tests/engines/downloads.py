"""What the engines need and the lock does not have: fetched once into `build/engines`, which git ignores.

Servers come from Maven Central, their Python clients from PyPI into an environment of their own. Where one cannot be
had, the tests that need it are skipped with the sentence of `NotToBeHad`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
CACHE = ROOT / "build" / "engines"
# The newest whose server Maven Central had on 2026-11-18; later ones are handed out elsewhere. 821 MB.
TRINO = "476"
TRINO_SHA1 = "c9b38be4017ebd2f7095455aaac772fb40247ebe"
TRINO_JAVA = 24
# DuckDB's extension for Delta is on PyPI for its versions 1, and no other server of extensions has to be reached.
CLIENTS = ["trino==0.340.0", "pyhive[hive-pure-sasl]==0.7.0", "duckdb==1.5.5", "duckdb-extension-delta==1.5.5"]


class NotToBeHad(Exception):
    """An engine that cannot be fetched or run here, in a sentence."""


def fetch(coordinate: str, sha1: str, folder: Path = CACHE) -> Path:
    """Return a file of Maven Central (`group:artifact:version[:packaging]`), kept from before, or fetched by Maven."""
    _, artifact, version, *packaging = coordinate.split(":")
    place = folder / f"{artifact}-{version}.{packaging[0] if packaging else 'jar'}"
    if place.exists():
        return place
    _say(f"{place.name}: Maven fetches it")
    with tempfile.TemporaryDirectory(dir=_made(folder)) as fresh:
        _run_maven(coordinate, place.name, Path(fresh))
        got = Path(fresh) / place.name
        if (found := _sha1_of(got)) != sha1:
            raise NotToBeHad(f"{place.name} is not what it was: its SHA-1 is {found}, and should be {sha1}")
        return got.rename(place)


def _run_maven(coordinate: str, name: str, folder: Path) -> None:
    """Copy an artifact into a folder by Maven, whose own settings say where Maven Central is reached."""
    if (maven := shutil.which("mvn")) is None:
        raise NotToBeHad(f"{name} is fetched by Maven, and no `mvn` is on the PATH")
    words = ["dependency:copy", f"-Dartifact={coordinate}", f"-DoutputDirectory={folder}"]
    words.append(f"-Dmaven.repo.local={folder}/m2")  # gone with the folder: 900 MB are not kept twice
    done = subprocess.run([maven, "-B", "-q", *words], capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        raise NotToBeHad(f"{name} cannot be fetched from Maven Central ({done.stdout.strip()[-300:]})")


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _sha1_of(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha1").hexdigest()


def trino_home() -> Path:
    """Return the folder of a Trino server with the plugin for Delta and no other; 340 MB."""
    name = f"trino-server-{TRINO}"
    home = CACHE / name
    if not home.exists():
        archive = fetch(f"io.trino:trino-server:{TRINO}:tar.gz", TRINO_SHA1)
        _say(f"unpacking {archive.name}")
        _unpack(archive, name, home)
        archive.unlink()
    return home


def _unpack(archive: Path, name: str, home: Path) -> None:
    """Unpack what is needed, in two passes: a jar that several plugins have is stored once, under any of them."""
    kept = tuple(f"{name}/{folder}/" for folder in ("bin", "lib", "secrets-plugin", "plugin/delta-lake"))
    fresh = home.with_suffix(".fresh")
    shutil.rmtree(fresh, ignore_errors=True)
    with tarfile.open(archive) as tar:
        wanted = {member.name for member in tar if member.name.startswith(kept)}
        wanted |= {member.linkname for member in tar if member.islnk() and member.name in wanted}
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.name in wanted:
                tar.extract(member, fresh, filter="tar")
    for plugin in (fresh / name / "plugin").iterdir():
        if plugin.name != "delta-lake":
            shutil.rmtree(plugin)
    (fresh / name).rename(home)
    fresh.rmdir()


def find_java(least: int) -> Path:
    """Return the home of a JDK of this version or a newer one: JAVA_HOME, or one where Linux keeps them."""
    homes = [Path(os.environ["JAVA_HOME"])] if "JAVA_HOME" in os.environ else []
    for home in (*homes, *sorted(Path("/usr/lib/jvm").glob("*"))):
        java = home / "bin" / "java"
        if not java.exists():
            continue
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
        found = re.search(r'version "(\d+)', said)
        if found and int(found[1]) >= least:
            return home
    raise NotToBeHad(f"Trino {TRINO} needs Java {least} or newer, and neither JAVA_HOME nor /usr/lib/jvm has one")


def client_python() -> Path:
    """Return the interpreter of an environment with the engines' clients, made where there is none yet."""
    mark = hashlib.sha1("\n".join(CLIENTS).encode()).hexdigest()[:10]
    folder = CACHE / f"clients-{mark}"
    if not (folder / "ready").exists():
        _say(f"installing {', '.join(CLIENTS)}")
        uv = [str(Path(sys.executable).with_name("uv"))]
        commands = (
            [*uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)],
            [*uv, "pip", "install", "--quiet", "--python", str(folder), *CLIENTS],
        )
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise NotToBeHad(f"the engines' clients cannot be installed from PyPI ({done.stderr.strip()})")
        (folder / "ready").touch()
    return folder / "bin" / "python"


def _say(line: str) -> None:
    """Tell the person at the terminal, past pytest, which keeps what tests print."""
    print(f"engines: {line}", file=sys.__stderr__, flush=True)
