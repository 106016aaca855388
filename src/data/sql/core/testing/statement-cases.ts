/** Tests of a statement parser: what it accepts, what it refuses, and where. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import {
  parseGoldenScript,
  testGoldenScript,
} from "../../../../ground/kernel/testing/golden-script.ts";

/** `script` has statements and what they are parsed to; `rule` is what any text proves. */
export function testStatements(
  script: string,
  parse: (text: string) => unknown,
  rule: string,
): void {
  testGoldenScript(script, (text) => [JSON.stringify(brief(parse(text)))]);
  test(`${rule} whatever is written, the answer is a statement or bad_sql`, () => {
    const sections = parseGoldenScript(readFileSync(script, "utf8").split("\n"));
    checkAnyText(
      parse,
      sections.flatMap(({ steps }) => steps.map(({ text }) => text)),
    );
  });
}

/** Removes positions and undefined or false values, and shows spans as their texts. */
function brief(value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries(value);
  if (Array.isArray(value)) return value.map(brief);
  if (typeof value !== "object" || value === null) return value;
  if ("text" in value && "position" in value) return value.text;
  if ("name" in value && "schema" in value) {
    return value.schema === undefined ? value.name : `${value.schema}.${value.name}`;
  }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, each]) => each !== undefined && each !== false)
      .map(([key, each]) => [key, brief(each)]),
  );
}

function checkAnyText(parse: (text: string) => unknown, texts: readonly string[]): void {
  const words = [...new Set(texts.flatMap((text) => text.split(/(\s+|[(),=.;|])/)))];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...words), { maxLength: 14 }), (parts) => {
      checkText(parse, parts.join(" "));
    }),
    { numRuns: 3_000 },
  );
  // Every prefix and suffix of a statement too: the parser only ever throws `bad_sql`.
  for (const text of texts) {
    for (let cut = 0; cut <= text.length; cut += 1) {
      for (const part of [text.slice(0, cut), text.slice(cut)]) checkText(parse, part);
    }
  }
}

function checkText(parse: (text: string) => unknown, text: string): void {
  try {
    parse(text);
  } catch (thrown) {
    assert(thrown instanceof OperatingError, String(thrown));
    assert.deepEqual([thrown.code, thrown.retry], ["bad_sql", "never"], text);
  }
}
