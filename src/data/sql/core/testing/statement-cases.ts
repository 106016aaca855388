/** Tests of a statement parser: what it accepts, what it refuses, and where. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { OperatingError } from "../../../../ground/kernel/errors.ts";

export interface StatementCases {
  readonly parse: (text: string) => unknown;
  readonly cases: readonly (readonly [rule: string, text: string, statement: unknown])[];
  /** The rule that the refusals prove. */
  readonly rule: string;
  /** The caret is under the word between bars. */
  readonly refused: readonly (readonly [text: string, message: string, hint?: RegExp])[];
}

export function testStatements({ parse, cases, rule, refused }: StatementCases): void {
  for (const [rule, text, statement] of cases) {
    test(`${rule} ${text}`, () => assert.deepEqual(brief(parse(text)), statement));
  }
  for (const [marked, message, hint] of refused) {
    test(`${rule} ${marked}: ${message}`, () => checkRefusal(parse, marked, message, hint));
  }
  test(`${rule} whatever is written, the answer is a statement or bad_sql`, () => {
    checkAnyText(parse, [...cases.map(([, text]) => text), ...refused.map(([text]) => text)]);
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

function checkRefusal(
  parse: StatementCases["parse"],
  marked: string,
  message: string,
  hint: RegExp | undefined,
): void {
  const isText = marked.startsWith("SELECT '|'");
  const text = isText ? "SELECT 'a" : marked.replaceAll("|", "");
  const caret = isText ? 7 : marked.indexOf("|");
  assert.throws(
    () => parse(text),
    (thrown) => {
      assert(thrown instanceof OperatingError, String(thrown));
      assert.equal(thrown.code, "bad_sql");
      assert.equal(thrown.retry, "never");
      const [told, , mark] = thrown.message.split("\n");
      assert.equal(told, message);
      if (text.trim() !== "") assert.equal(mark?.indexOf("^"), "LINE 1: ".length + caret);
      if (hint !== undefined) assert.match(thrown.hint ?? "", hint);
      return true;
    },
  );
}

function checkAnyText(parse: StatementCases["parse"], texts: readonly string[]): void {
  const words = [...new Set(texts.flatMap((text) => text.split(/(\s+|[(),=.;|])/)))];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...words), { maxLength: 14 }), (parts) => {
      try {
        parse(parts.join(" "));
      } catch (thrown) {
        assert(thrown instanceof OperatingError && thrown.code === "bad_sql", String(thrown));
      }
    }),
    { numRuns: 3_000 },
  );
  // Every prefix and suffix of a statement too: the parser only ever throws `bad_sql`.
  for (const text of texts) {
    for (let cut = 0; cut <= text.length; cut += 1) {
      for (const part of [text.slice(0, cut), text.slice(cut)]) {
        try {
          parse(part);
        } catch (thrown) {
          assert(thrown instanceof OperatingError && thrown.code === "bad_sql", part);
        }
      }
    }
  }
}
