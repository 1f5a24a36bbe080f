"""The Python blocks of the documentation have correct types."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from .support import root

pages = ["README.md", "clients/python/README.md", "docs/how-to/python.md", "docs/how-to/receipts.md"]


@unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
class Documentation(unittest.TestCase):
    def test_every_block_passes_mypy_strict(self) -> None:
        source = str(root / "clients/python/src")
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for page in pages:
                blocks = re.findall(r"^```python\n(.*?)^```$", (root / page).read_text(encoding="utf-8"), re.M | re.S)
                self.assertTrue(blocks, page)
                for block in blocks:
                    file = Path(folder, f"block_{len(files)}.py")
                    file.write_text(f"# {page}\n{block}", encoding="utf-8")
                    files.append(str(file))
            command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", f"{folder}/cache", *files]
            env = {"MYPYPATH": source, "PATH": "/usr/bin:/bin"}
            checked = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
