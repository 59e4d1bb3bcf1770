"""Bar charts as SVG that read on light and dark pages alike: each brings its own background."""

from html import escape

PAPER, INK, FAINT, GRID = "#f7f5f0", "#2b2b2b", "#6b6860", "#dcd8ce"
COLOURS = {"hello": "#2f6f8f", "coro_twin": "#2f6f8f", "coracle": "#2f6f8f",
           "limit": "#8a8578", "nginx": "#b0803f", "blocking_twin": "#b0803f"}
LIGHTER = {"#2f6f8f": "#8fb8cc", "#8a8578": "#c4c0b5", "#b0803f": "#dcc097"}

WIDTH, LEFT, RIGHT, BAR, GAP, HEAD = 720, 170, 90, 17, 5, 62


def number(value):
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def text(x, y, content, size=12, fill=INK, anchor="start", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" '
            f'text-anchor="{anchor}" font-weight="{weight}">{escape(content)}</text>')


def bars(title, subtitle, groups):
    """groups: [(heading, [(label, [part, ...])])]; the parts of a bar lie one after the other, and
    its figure is their sum. The first part is drawn dark, the next ones lighter."""
    groups = [(heading, rows) for heading, rows in groups if rows]
    # Loads differ by a factor of ten, so each group has a scale of its own.
    height = HEAD + sum(26 + len(rows) * (BAR + GAP) + 8 for _, rows in groups) + 8
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
           f'width="{WIDTH}" height="{height}" role="img" '
           'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">',
           f'<title>{escape(title)}</title>',
           f'<rect width="{WIDTH}" height="{height}" rx="8" fill="{PAPER}" stroke="{GRID}"/>',
           text(20, 28, title, 16, weight="600"), text(20, 48, subtitle, 12, FAINT)]
    y = HEAD
    span = WIDTH - LEFT - RIGHT
    for heading, rows in groups:
        most = max(sum(parts) for _, parts in rows) or 1
        out.append(f'<line x1="20" y1="{y + 4}" x2="{WIDTH - 20}" y2="{y + 4}" stroke="{GRID}"/>')
        out.append(text(20, y + 19, heading, 12, INK, weight="600"))
        y += 26
        for label, parts in rows:
            colour = COLOURS.get(label, "#8a8578")
            out.append(text(LEFT - 10, y + BAR - 4, label, 12, INK, "end"))
            x = float(LEFT)
            for index, part in enumerate(parts):
                width = span * part / most
                fill = colour if index == 0 else LIGHTER.get(colour, "#c4c0b5")
                out.append(f'<rect x="{x:.1f}" y="{y}" width="{max(width, 0.5):.1f}" '
                           f'height="{BAR}" fill="{fill}"/>')
                x += width
            out.append(text(x + 6, y + BAR - 4, number(sum(parts)), 12, INK))
            y += BAR + GAP
        y += 8
    return "\n".join(out + ["</svg>", ""])
