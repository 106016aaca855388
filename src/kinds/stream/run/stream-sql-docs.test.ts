import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { renderDocs } from "./testing/render-docs.ts";

const page = join(import.meta.dirname, "..", "..", "..", "..", "docs", "stream-sql.md");

test("[SU30] docs/stream-sql.md shows what its examples print, and every setting", async () => {
  const text = await readFile(page, "utf8");
  const rendered = await renderDocs(text);
  if (process.env.CAPSTAN_WRITE_DOCS === "1") await writeFile(page, rendered.text);
  else assert.equal(rendered.text, text, "CAPSTAN_WRITE_DOCS=1 writes the page anew");
  assert.ok(rendered.exampleCount >= 15, `${rendered.exampleCount} examples`);
  const settings = rendered.text.match(/^\| `.*\..*` \|/gm) ?? [];
  assert.ok(settings.length >= 40, `${settings.length} settings`);
});
