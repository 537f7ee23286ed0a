"""How the documentation site is built: `make docs`."""

import os
import re
from pathlib import Path

import steadyset
from steadyset import explorer

ROOT = Path(__file__).parents[1]
os.environ.setdefault("MPLBACKEND", "Agg")

project = "steadyset"
author = "The steadyset developers"
copyright = author
version = release = steadyset.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx-mathjax-offline",  # pages open without a network
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
nitpicky = True
nitpick_ignore_regex = [("py:attr", r"steadyset\..*")]  # attributes stand in the table of their class

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "substitution"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_default_options = {"member-order": "bysource"}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "backreferences_dir": "api/backreferences",
    "doc_module": ("steadyset",),
    "reference_url": {"steadyset": None},
    "within_subsection_order": "FileNameSortKey",
    "copyfile_regex": r"",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "plot_gallery": True,
    "abort_on_example_error": False,  # with warnings as errors a failing example fails the build, after all have run
    "image_scrapers": ("matplotlib",),
    "min_reported_time": 1e9,
    "write_computation_times": False,
}

html_theme = "furo"
html_title = f"steadyset {release}"
html_static_path = ["_static", str(explorer.write(ROOT / "build" / "explorer.html"))]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_sidebars = {  # furo's own, and the versions of a hosted site
    "**": [
        "sidebar/brand.html",
        "versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#0072B2"},
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#56B4E9"},
}


def skip_member(app, what, name, obj, skip, options):
    """Leave out what every scikit-learn estimator has: its own documentation explains that."""
    foreign = str(getattr(obj, "__module__", "")).startswith("sklearn") or name == "get_metadata_routing"
    return True if foreign or re.fullmatch(r"set_\w+_request", name) else None


def setup(app):
    """Connect what this file adds to the build."""
    app.connect("autodoc-skip-member", skip_member)
