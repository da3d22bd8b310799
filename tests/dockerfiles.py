"""Build the Dockerfile without a container engine, and run commands in the result."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile in order, each with its argument on one line."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [
        (word, rest.strip()) for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line.strip())
    ]


@dataclass(frozen=True)
class Image:
    """The root directory of an image, and the settings of its processes."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "0:0"
    entry: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)

    def step(self, command: str, **more: str) -> None:
        """Run an instruction RUN, and raise an error with its output if it fails."""
        result = subprocess.run(
            [
                "chroot",
                self.root,
                "/usr/bin/env",
                "-i",
                *_settings(self.environment | more),
                "sh",
                "-c",
                f"cd {self.folder} && {command}",
            ],
            capture_output=True,
            text=True,
        )
        assert result.returncode == 0, f"{command}\n{result.stdout[-3000:]}{result.stderr[-3000:]}"

    def run(
        self, *arguments: str, data: Path, user: str | None = None, read_only: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Run the entry point without HOME, with a folder mounted at /data and an empty /tmp."""
        user_id, _, group_id = (user or self.user).partition(":")
        process = ["setpriv", f"--reuid={user_id}", f"--regid={group_id}", "--clear-groups", "--no-new-privs"]
        process += [
            "/usr/bin/env",
            "-i",
            *_settings(self.environment),
            "sh",
            "-c",
            f'cd {self.folder} && exec "$0" "$@"',
            *self.entry,
            *arguments,
        ]
        script = f"""
            set -e
            mount --bind {self.root} {self.root}
            {f"mount -o remount,bind,ro {self.root}" if read_only else ""}
            mount -t tmpfs -o mode=1777 tmpfs {self.root}/tmp
            mount --rbind /dev {self.root}/dev
            mount -t proc proc {self.root}/proc
            mount --bind {data} {self.root}/data
            exec chroot {self.root} {shlex.join(process)}
        """
        return subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True)


def build_image(dockerfile: Path, context: Path, base: Path, folder: Path) -> Image:
    """Build a Dockerfile. Every stage begins with a copy of `base`, which has the certificates of this machine."""
    network = {"PIP_CERT": str(CERTIFICATES), "PIP_DISABLE_PIP_VERSION_CHECK": "1"} if CERTIFICATES.exists() else {}
    stages: dict[str, Image] = {}
    image, name = Image(base), "none"
    for word, rest in instructions(dockerfile.read_text("utf-8")):
        match word:
            case "ARG":
                pass
            case "FROM":
                name = rest.partition(" AS ")[2] or "last"
                root = folder / name
                subprocess.run(["cp", "-a", "--reflink=auto", base, root], check=True)
                for file in (Path("/etc/resolv.conf"), CERTIFICATES):
                    if file.exists():
                        (root / file.relative_to("/")).unlink(missing_ok=True)
                        shutil.copy(file, root / file.relative_to("/"))
                image = Image(root, {"PATH": "/usr/local/bin:/usr/bin:/bin"})
            case "COPY":
                origin, source, target = re.fullmatch(
                    r"(?:--from=(\S+) )?(\S+) "
                    r"(\S+)",
                    rest,
                ).groups()  # type: ignore[union-attr]
                place = stages[origin].root / source.lstrip("/") if origin else context / source
                shutil.copytree(place, image.root / target.lstrip("/"), symlinks=True)
            case "RUN":
                image.step(rest, **network)
            case "ENV":
                image = replace(
                    image, environment=image.environment | dict(part.split("=", 1) for part in shlex.split(rest))
                )
            case "LABEL":
                image = replace(image, labels=image.labels | dict(part.split("=", 1) for part in shlex.split(rest)))
            case "WORKDIR":
                image = replace(image, folder=rest)
            case "USER":
                image = replace(image, user=rest)
            case "ENTRYPOINT":
                image = replace(image, entry=tuple(json.loads(rest)))
            case "CMD":
                pass
            case _:
                raise ValueError(f"no such step is known: {word}")
        stages[name] = image
    return image


def _settings(environment: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in environment.items()]


def base_root(folder: Path) -> Path:
    """Return a Debian with Python 3.11, which replaces the base image of the Dockerfile. It is created if it is
    missing.
    """
    root = Path(os.environ.get("CORRUPTSET_TEST_ROOT") or folder / "base")
    if not root.exists():
        include = "--include=python3,python3-venv,ca-certificates"
        subprocess.run(
            ["debootstrap", "--variant=minbase", include, "bookworm", root], check=True, stdout=subprocess.DEVNULL
        )
    python = root / "usr/local/bin/python"
    python.unlink(missing_ok=True)
    python.symlink_to("/usr/bin/python3")
    return root
