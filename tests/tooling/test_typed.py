"""What of a page a type checker is given."""

from __future__ import annotations

from pathlib import Path

from tooling.typed import CLOCK, program

PAGE = """# Page

```python
# shop/jobs.py
x = 1
```

```python raises InvalidError
no
```

<!-- python
from shop.jobs import x
from shop.views import y
-->
"""


def test_a_pages_program_has_its_blocks_at_the_pages_lines(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE)

    lines = program(tmp_path / "page.md").splitlines()

    assert lines[0] == CLOCK
    assert lines[4] == "x = 1" == PAGE.splitlines()[4]
    assert "no" not in lines


def test_a_page_does_not_import_what_it_defines_itself(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE)

    text = program(tmp_path / "page.md")

    assert "shop.jobs import" not in text
    assert "from shop.views import y" in text
