"""The style sheet of a chain in HTML: JupyterLab's own colours, with fallbacks.

Text and ground follow JupyterLab's CSS variables. The colours of the states are
those of the lab's pictures (`labkit.draw.theme`), once for a light and once for
a dark ground; what a colour says is also said by a sign and a word.
"""

from __future__ import annotations

__all__ = ["PAGE", "STYLE"]

_LIGHT = (
    "--lk-runs:#0072b2;--lk-dead:#5b636b;--lk-edge:#b34c00;--lk-check:#007a5a;--lk-wrong:#b3261e;"
)
_DARK = (
    "--lk-runs:#6cc0f0;--lk-dead:#a9b1b9;--lk-edge:#ff9a4d;--lk-check:#4fd3a5;--lk-wrong:#ff8a80;"
)

STYLE = (
    f".labkit-chain{{{_LIGHT}"
    "color:var(--jp-ui-font-color1,#1f2328);background:var(--jp-layout-color0,#fff);"
    "font:14px/1.5 var(--jp-ui-font-family,system-ui,sans-serif);max-width:64em;padding:2px 8px}"
    f'[data-jp-theme-light="false"] .labkit-chain{{{_DARK}}}'
    ".labkit-chain h3{font-size:17px;margin:8px 0 4px}"
    ".labkit-chain h4{font-size:15px;margin:18px 0 6px;padding-bottom:3px;"
    "border-bottom:1px solid var(--jp-border-color2,#c9ccd0)}"
    ".labkit-chain p{margin:4px 0}"
    ".labkit-chain code,.labkit-chain pre{font:13px/1.5 var(--jp-code-font-family,monospace);"
    "color:inherit;background:var(--jp-layout-color2,#eef0f2);border-radius:3px}"
    ".labkit-chain code{padding:0 3px;overflow-wrap:anywhere}"
    ".labkit-chain pre{padding:6px 8px;overflow-x:auto;margin:4px 0;white-space:pre}"
    ".labkit-chain .lk-wide{overflow-x:auto}"
    ".labkit-chain table{border-collapse:collapse;margin:4px 0;font-size:13px;display:table}"
    ".labkit-chain.labkit-chain th,.labkit-chain.labkit-chain td{text-align:left;"  # over Jupyter's
    "vertical-align:top;padding:3px 12px 3px 0;"
    "border:0;border-bottom:1px solid var(--jp-border-color3,#e3e5e8);white-space:normal}"
    ".labkit-chain th{color:var(--jp-ui-font-color2,#5b636b);font-weight:600}"
    ".labkit-chain.labkit-chain td.lk-number,.labkit-chain.labkit-chain th.lk-number{"
    "text-align:right;"
    "font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".labkit-chain tbody tr{background:transparent}"
    ".labkit-chain details{margin:3px 0;border:1px solid var(--jp-border-color2,#c9ccd0);"
    "border-left:4px solid var(--lk-tone,#8a929a);border-radius:4px}"
    ".labkit-chain summary{cursor:pointer;padding:4px 8px;overflow-wrap:anywhere}"
    ".labkit-chain summary:focus-visible{outline:2px solid var(--jp-brand-color1,#0072b2);"
    "outline-offset:1px}"
    ".labkit-chain summary b{margin-right:8px}"
    ".labkit-chain .lk-state{color:var(--lk-tone);font-weight:600;margin-right:8px;"
    "white-space:nowrap}"
    ".labkit-chain .lk-body{padding:2px 12px 8px 26px}"
    ".labkit-chain .lk-note{border-left:3px solid var(--lk-edge);padding-left:8px;margin:6px 0}"
    ".labkit-chain .lk-found{color:var(--lk-edge);white-space:nowrap}"
    ".labkit-chain .lk-keep{white-space:nowrap}"
    ".labkit-chain .lk-quiet{color:var(--jp-ui-font-color2,#5b636b);font-size:13px}"
    ".labkit-chain .lk-runs{--lk-tone:var(--lk-runs)}"
    ".labkit-chain .lk-dead{--lk-tone:var(--lk-dead)}"
    ".labkit-chain .lk-edge{--lk-tone:var(--lk-edge)}"
    ".labkit-chain .lk-check{--lk-tone:var(--lk-check)}"
    ".labkit-chain .lk-wrong{--lk-tone:var(--lk-wrong)}"
    ".labkit-chain ul{margin:4px 0;padding-left:20px}"
)
"""For `<style>`; every rule is inside .labkit-chain."""

PAGE = (
    "body{margin:16px;background:#fff}"
    "@media (prefers-color-scheme:dark){body{background:#15181b;"
    "--jp-ui-font-color1:#e8eaed;--jp-ui-font-color2:#a9b1b9;--jp-layout-color0:#15181b;"
    "--jp-layout-color2:#262b30;--jp-border-color2:#4a5057;--jp-border-color3:#34393f;"
    f"--jp-brand-color1:#6cc0f0}}body .labkit-chain{{{_DARK}}}}}"
)
"""For a page of its own, which has no JupyterLab around it."""
