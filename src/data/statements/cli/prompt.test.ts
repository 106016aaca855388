import assert from "node:assert/strict";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { discardLine } from "./prompt.ts";

test("[CM14] what is discarded at the prompt is not part of the next line", async () => {
  const input = new PassThrough();
  const lines = createInterface({ input, output: new PassThrough(), terminal: true });
  const left = "\u001b[D";
  input.write(`DROP TABLE t;${left}${left}`);
  discardLine(lines);
  assert.equal(lines.line, "");
  const entered = once(lines, "line");
  input.write("SELECT 1;\r");
  assert.deepEqual(await entered, ["SELECT 1;"]);
  lines.close();
});
