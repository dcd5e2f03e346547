# SPDX-License-Identifier: Apache-2.0
"""Draws what a program sent to a terminal as that shows it.

usage: top_picture.py FILE PAGE.png"""
import sys

import pyte
from PIL import Image, ImageDraw, ImageFont

COLUMNS, LINES, WIDTH, HEIGHT, MARGIN = 80, 24, 10, 20, 12
INK, PAPER = (220, 220, 220), (24, 28, 32)
FONTS = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono%s.ttf"

screen = pyte.Screen(COLUMNS, LINES)
with open(sys.argv[1], "rb") as f:
    pyte.ByteStream(screen).feed(f.read())
fonts = {bold: ImageFont.truetype(FONTS % ("-Bold" if bold else ""), 16) for bold in (False, True)}
page = Image.new("RGB", (COLUMNS * WIDTH + 2 * MARGIN, LINES * HEIGHT + 2 * MARGIN), PAPER)
draw = ImageDraw.Draw(page)
for y in range(LINES):
    for x in range(COLUMNS):
        cell = screen.buffer[y][x]
        ink, paper = (PAPER, INK) if cell.reverse else (INK, PAPER)
        at = MARGIN + x * WIDTH, MARGIN + y * HEIGHT
        draw.rectangle([at, (at[0] + WIDTH - 1, at[1] + HEIGHT - 1)], fill=paper)
        draw.text(at, cell.data, fill=ink, font=fonts[cell.bold])
page.quantize(16).save(sys.argv[2], optimize=True)
