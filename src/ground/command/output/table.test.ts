import assert from "node:assert/strict";
import { test } from "node:test";
import { formatBytes, formatDuration } from "./format.ts";
import { TableWriter } from "./table.ts";
import { createPaint, wantsColour } from "./terminal.ts";
import { displayWidth, printable, truncate } from "./terminal-text.ts";

function render(rows: readonly (readonly string[])[], measuredMax?: number): string {
  let text = "";
  const columns = [
    { title: "name", align: "left" },
    { title: "n", align: "right" },
  ] as const;
  const style = { widthMax: 12, paintTitle: (title: string) => title };
  const table = new TableWriter(
    columns,
    style,
    (part) => {
      text += part;
    },
    measuredMax,
  );
  for (const row of rows) table.row(row);
  table.end();
  return text;
}

test("[CM3] columns are aligned, numbers to the right", () => {
  assert.equal(
    render([
      ["a", "1"],
      ["bcd", "1000"],
    ]),
    "name     n\na        1\nbcd   1000\n",
  );
});

test("[CM3] a table without rows has its titles", () => {
  assert.equal(render([]), "name  n\n");
});

test("[CM3] wide characters count twice, combining ones not at all", () => {
  assert.equal(displayWidth("日本"), 4);
  assert.equal(displayWidth("e\u0301"), 1);
  assert.equal(displayWidth("👩‍👩‍👧"), 2);
  assert.equal(render([["日本", "1"]]), "name  n\n日本  1\n");
});

test("[CM3] rows after the measured ones are printed as they come", () => {
  assert.equal(
    render(
      [
        ["a", "1"],
        ["long-name", "2"],
      ],
      1,
    ),
    "name  n\na     1\nlong-name  2\n",
  );
});

test("[CM4] a cell cannot drive the terminal", () => {
  assert.equal(printable("a\u001b[31mb\nc\u202ed"), "a\\u001b[31mb\\nc\\u202ed");
  assert.ok(!render([["\u001b]0;evil\u0007", "1"]]).includes("\u001b"));
});

test("[CM3] a long cell is cut to its width", () => {
  assert.equal(truncate("abcdefgh", 4), "abc…");
  assert.equal(truncate("日本語", 4), "日…");
});

test("[CM2] colour is for terminals whose owner wants it", () => {
  assert.ok(wantsColour(true, {}));
  assert.ok(!wantsColour(false, {}));
  assert.ok(!wantsColour(true, { NO_COLOR: "1" }));
  assert.ok(wantsColour(true, { NO_COLOR: "" }));
  assert.ok(wantsColour(false, { FORCE_COLOR: "1" }));
  assert.ok(!wantsColour(true, { TERM: "dumb" }));
  assert.equal(createPaint(false).red("x"), "x");
});

test("[CM3] sizes and times read well", () => {
  assert.deepEqual([0, 1023, 1024, 150 * 1024 ** 2].map(formatBytes), [
    "0 B",
    "1023 B",
    "1.0 KiB",
    "150 MiB",
  ]);
  assert.deepEqual([0.5, 12, 1500, 61_000, 3_700_000, 200_000_000].map(formatDuration), [
    "0.50 ms",
    "12 ms",
    "1.5 s",
    "1 min 1 s",
    "1 h 1 min",
    "2 d 7 h",
  ]);
});
