import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { needsQuotes } from "./names.ts";
import { testDuckDb } from "./testing/duckdb.ts";
import { selectCorpus } from "./testing/select-corpus.ts";
import { keywordOf, scanTokens, tokenize } from "./tokens.ts";

const duckdb = testDuckDb();

/** Each token's kind and text. */
function shown(text: string): string[] {
  return tokenize(text).map((token) => `${token.kind}:${token.text}`);
}

const cases: readonly (readonly [text: string, tokens: readonly string[]])[] = [
  ["", []],
  ["a1_$ é名", ["word:a1_$", "word:é名"]],
  ['"a""b".c', ['quotedName:"a""b"', "punctuation:.", "word:c"]],
  ["'it''s'", ["text:'it''s'"]],
  ["e'a\\'b'", ["text:e'a\\'b'"]],
  ["'a'\n  -- and\n 'b' 'c'", ["text:'a'\n  -- and\n 'b'", "text:'c'"]],
  ["x'AB' b'01' n'q'", ["text:x'AB'", "text:b'01'", "word:n", "text:'q'"]],
  ["$$a$b$$ $t1$x$$y$t1$", ["text:$$a$b$$", "text:$t1$x$$y$t1$"]],
  ["$1 $name ? ?2", ["parameter:$1", "parameter:$name", "parameter:?", "parameter:?2"]],
  [
    "1_000 1.5e-3 .5 5. 1..2",
    [
      "number:1_000",
      "number:1.5e-3",
      "number:.5",
      "number:5.",
      "number:1",
      "operator:..",
      "number:2",
    ],
  ],
  ["0x1F 1a", ["number:0", "word:x1F", "number:1", "word:a"]],
  ["a=-1", ["word:a", "operator:=", "operator:-", "number:1"]],
  [
    "a::int[3]",
    ["word:a", "operator:::", "word:int", "punctuation:[", "number:3", "punctuation:]"],
  ],
  [
    "x->>'$.a' => := <= <> != ** //",
    [
      "word:x",
      "operator:->>",
      "text:'$.a'",
      "operator:=>",
      "operator::=",
      "operator:<=",
      "operator:<>",
      "operator:!=",
      "operator:**",
      "operator://",
    ],
  ],
  ["1 +/* x */2 *-- y\n3", ["number:1", "operator:+", "number:2", "operator:*", "number:3"]],
  ["/* a /* b */ c */ d", ["word:d"]],
  [
    "{'a': #1}",
    ["punctuation:{", "text:'a'", "operator::", "operator:#", "number:1", "punctuation:}"],
  ],
  ["a\u00a0b\u3000c\ufeff", ["word:a", "word:b", "word:c"]],
];
for (const [text, tokens] of cases) {
  test(`[SQ1] tokens of ${JSON.stringify(text)}`, () => assert.deepEqual(shown(text), tokens));
}

const faults: readonly (readonly [text: string, message: string, caret: number])[] = [
  ["SELECT 'a", "the text is not closed", 7],
  ["SELECT E'a\\'", "the text is not closed", 7],
  ['SELECT "a', "the quoted name is not closed", 7],
  ["SELECT 1 /* a /* b */", "the comment is not closed", 9],
  ["SELECT $q$ a $$", "the text that $q$ opens is not closed", 7],
  ["SELECT (1, [2)", '"]" expected before ")"', 13],
  ["SELECT (1", '"(" is not closed', 7],
  ["SELECT 1)", '")" closes nothing', 8],
  ["SELECT 1 \\ 2", 'unexpected character "\\\\"', 9],
  ["SELECT 1\0", 'unexpected character "\\u0000"', 8],
  ['SELECT ""', "a quoted name cannot be empty", 7],
];
for (const [text, message, caret] of faults) {
  test(`[SQ2] ${JSON.stringify(text)}: ${message}`, () => {
    assert.throws(
      () => tokenize(text),
      (thrown) => {
        assert(thrown instanceof OperatingError);
        assert.equal(thrown.code, "bad_sql");
        const [told, line, mark] = thrown.message.split("\n");
        assert.equal(told, message);
        assert.equal(line, `LINE 1: ${text}`);
        assert.equal(mark, `${" ".repeat("LINE 1: ".length + caret)}^`);
        return true;
      },
    );
  });
}

/** Texts of the characters that matter to a lexer. */
const piece = fc.constantFrom(
  ..."' \" $ $$ $a$ -- /* */ \\ E' x' e n' '' \"\" ( ) [ ] { } ; , . .. : :: := = - + * / % < > ! ? # @ ~ ^ & | ` _ a A é 😀 0 1 9 1e5 1. .5".split(
    " ",
  ),
  " ",
  "\n",
  "\t",
  "\u00a0",
  "\0",
);
const lexical = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(""));

test("[SQ1] tokens and what is between them give the text back", () => {
  fc.assert(
    fc.property(fc.oneof(lexical, fc.string({ unit: "binary" })), (text) => {
      const { tokens, unfinished } = scanTokens(text);
      let at = 0;
      for (const token of tokens) {
        const gap = text.slice(at, token.position);
        assert.deepEqual(scanTokens(gap), { tokens: [], unfinished: undefined });
        assert.equal(text.slice(token.position, token.position + token.text.length), token.text);
        assert.ok(token.text.length > 0);
        at = token.position + token.text.length;
      }
      const rest = text.slice(at);
      if (unfinished === undefined) assert.deepEqual(scanTokens(rest).tokens, []);
      else assert.ok(unfinished.position >= at);
    }),
    { numRuns: 5_000 },
  );
});

test("[SQ1] a text has the value that DuckDB gives it", async () => {
  const inner = fc.array(
    fc.constantFrom(
      "a",
      "''",
      "\\\\",
      "\\n",
      "\\x41",
      "\\101",
      "\\q",
      "é",
      "😀",
      "\n",
      '"',
      "$",
      "--",
      "/*",
      "'\n'",
      "' -- x\n '",
    ),
    { maxLength: 8 },
  );
  const literal = fc.oneof(
    inner.map((parts) => `'${parts.join("")}'`),
    inner.map((parts) => `E'${parts.join("")}'`),
    inner.map((parts) => `$t$${parts.join("")}$t$`),
  );
  await fc.assert(
    fc.asyncProperty(literal, async (text) => {
      const [token, ...more] = tokenize(text);
      assert.deepEqual([token?.kind, more], ["text", []]);
      assert.deepEqual(await duckdb.rows(`SELECT ${text}`), [[token?.value]]);
    }),
    { numRuns: 500 },
  );
});

test("[SQ1] where one token ends DuckDB sees the end too: blanks between tokens change nothing", async () => {
  const parse = async (sql: string) => {
    const [[json] = []] = await duckdb.rows("SELECT json_serialize_sql($1::VARCHAR)::VARCHAR", [
      sql,
    ]);
    return String(json).replaceAll(/"query_location":\d+/g, "");
  };
  for (const sql of selectCorpus) {
    const apart = tokenize(sql).map(({ text }) => text);
    assert.equal(await parse(apart.join(" \n ")), await parse(sql), sql);
  }
});

test("[SQ1] blanks are what DuckDB takes for blanks", async () => {
  const codes = [
    9, 10, 11, 12, 13, 32, 0x85, 0xa0, 0x1680, 0x180e, 0x2028, 0x2029, 0x202f, 0x205f, 0x2060,
    0x3000, 0xfeff,
  ];
  for (let code = 0x1fff; code <= 0x2010; code += 1) codes.push(code);
  for (const code of codes) {
    const text = `SELECT 1${String.fromCharCode(code)}AS${String.fromCharCode(code)}x`;
    const isBlank = await duckdb.result(text).then(
      ({ columns }) => columns[0] === "x",
      () => false,
    );
    const words = scanTokens(text).tokens.map((token) => token.text);
    assert.equal(words.join(" ") === "SELECT 1 AS x", isBlank, code.toString(16));
  }
});

test("[SQ3] words that need quotes as names are those of duckdb_keywords()", async () => {
  const rows = await duckdb.rows(
    "SELECT upper(keyword_name), keyword_category FROM duckdb_keywords()",
  );
  assert.ok(rows.length > 400);
  for (const [word, category] of rows) {
    const wanted = category === "reserved" || category === "type_function";
    // A word may be in several categories; the strictest counts.
    const isStrict = rows.some(
      ([other, its]) => other === word && (its === "reserved" || its === "type_function"),
    );
    assert.equal(needsQuotes(String(word)), wanted || isStrict, String(word));
  }
});

test("[SQ3] only ASCII makes a keyword", () => {
  assert.equal(keywordOf(tokenize("select")[0]), "SELECT");
  assert.equal(keywordOf(tokenize("ſelect")[0]), "");
  assert.equal(keywordOf(tokenize('"select"')[0]), "");
  assert.equal(keywordOf(undefined), "");
});
