"""The site builds without a warning, says something of every corruption and every public name, and fetches nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import corruptset
from corruptset.cli.app import app
from corruptset.corruptions.registry import corruption_names, get_corruption

ROOT = Path(__file__).parents[2]


pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


def test_every_corruption_has_section_images_and_source(site):
    for name in corruption_names():
        corruption = get_corruption(name)
        folder = site / "corruptions" / corruption.family
        section = (folder / "index.html").read_text("utf-8").partition(f'<h2 id="{name}"')[2].partition('<h2 id="')[0]
        images = re.findall(r'<img [^>]*src="([^"]+)"', section)
        assert images, name
        assert all((folder / image).resolve().stat().st_size > 200 for image in images)
        assert "Source." in section
        assert all(f"<code>{p.name}</code>" in section for p in corruption.parameters)


def test_every_public_name_is_on_python_page(site):
    page = (site / "api/index.html").read_text("utf-8")
    assert [name for name in corruptset._MODULES if f"corruptset.{name}" not in page] == []


def test_site_loads_nothing_from_other_hosts(site):
    for file in [*site.rglob("*.html"), *site.rglob("*.css")]:
        text = file.read_text("utf-8")
        fetched = re.findall(r'<(?:script|img|iframe|source)[^>]*\ssrc="(https?:[^"]+)"', text)
        fetched += re.findall(r'<link[^>]*rel="(?:stylesheet|preconnect|icon)"[^>]*href="(https?:[^"]+)"', text)
        fetched += re.findall(r"""(?:@import|url\()\s*['"]?(https?:[^'")]+)""", text) if file.suffix == ".css" else []
        assert not fetched, f"{file.relative_to(site)} fetches {fetched}"


def test_every_command_has_page_with_all_options_and_settings(site):
    shared_data = (site / "command-line/index.html").read_text("utf-8")
    for name, command in typer.main.get_command(app).commands.items():
        page = (site / "commands" / name / "index.html").read_text("utf-8")
        options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
        names = [max(p.opts, key=len).removeprefix("--" * p.hidden) for p in options]
        shown = [
            cell.split(", ")[-1].split()[0]
            for cell in re.findall(r"<td><code>(.*?)</code></td>", page.partition('id="options"')[2])
        ]
        assert sorted(shown) == sorted(names), name
        texts = [p for p in options if isinstance(p.default, str) and not p.hidden]
        assert all(re.search(rf"\[default: \(?{p.default}\)?\]", page) for p in texts), name
        assert f'href="../commands/{name}/"' in shared_data, name
