"""The documentation site: `make docs` builds it, offline and with warnings as errors."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import tutelage  # noqa: E402  (after the path is set)

project = "tutelage"
author = "The tutelage developers"
copyright = author
version = release = tutelage.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "tutelage_docs",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_ext", "results/ledger.md", "results/README.md", "auto_examples/**/*.ipynb"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

autodoc_default_options = {"members": True}
autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
default_role = "code"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
maximum_signature_line_length = 100
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"draw_the_pieces",
    "ignore_pattern": r"__init__",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
    "copyfile_regex": r".*\.yaml",
}

html_theme = "pydata_sphinx_theme"
html_math_renderer = "mathml"
html_title = "tutelage"
html_static_path = ["_static"]
html_search_scorer = str(HERE / "_ext" / "scorer.js")
html_css_files = ["tutelage.css"]
html_js_files = ["accessible.js", "gallery.js"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "tutelage"},
    "show_nav_level": 1,
    "navigation_depth": 2,
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "gallery/index": []}
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True
