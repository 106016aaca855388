import assert from "node:assert/strict";
import { test } from "node:test";
import { checkRegex } from "./check-regex.ts";
import { compileRegex } from "./compile-regex.ts";
import { RegexError } from "./regex-error.ts";

/** Go's messages, after `error parsing regexp: `. */
const wrong = [
  ["(", "missing closing ): `(`"],
  ["a)", "unexpected ): `a)`"],
  ["[a", "missing closing ]: `[a`"],
  ["[]", "missing closing ]: `[]`"],
  ["*a", "missing argument to repetition operator: `*`"],
  ["(+a)", "missing argument to repetition operator: `+`"],
  ["a|??", "missing argument to repetition operator: `??`"],
  ["a**", "invalid nested repetition operator: `**`"],
  ["a*+?", "invalid nested repetition operator: `*+?`"],
  ["a{2}{3}", "invalid nested repetition operator: `{2}{3}`"],
  ["a{1001}", "invalid repeat count: `{1001}`"],
  ["a{3,2}", "invalid repeat count: `{3,2}`"],
  ["(a{100}){100}", "invalid repeat count: `{100}`"],
  ["[b-a]", "invalid character class range: `b-a`"],
  ["[[:foo:]]", "invalid character class range: `[:foo:]`"],
  ["\\p{Foo}", "invalid character class range: `\\p{Foo}`"],
  ["\\pX", "invalid character class range: `\\pX`"],
  ["\\", "trailing backslash at end of expression: ``"],
  ["\\1", "invalid escape sequence: `\\1`"],
  ["\\q", "invalid escape sequence: `\\q`"],
  ["\\C", "invalid escape sequence: `\\C`"],
  ["\\Z", "invalid escape sequence: `\\Z`"],
  ["\\x{110000}", "invalid escape sequence: `\\x{110000`"],
  ["\\u0061", "invalid escape sequence: `\\u`"],
  ["(?=a)", "invalid or unsupported Perl syntax: `(?=`"],
  ["(?!a)", "invalid or unsupported Perl syntax: `(?!`"],
  ["(?<=a)", "invalid named capture: `(?<=a)`"],
  ["(?P=n)", "invalid or unsupported Perl syntax: `(?P`"],
  ["(?P<n m>a)", "invalid named capture: `(?P<n m>`"],
  ["(?z)", "invalid or unsupported Perl syntax: `(?z`"],
  ["(?i-)", "invalid or unsupported Perl syntax: `(?i-)`"],
] as const;
for (const [pattern, message] of wrong) {
  test(`[RX1] ${pattern} is refused: ${message}`, () => {
    const whole = `error parsing regexp: ${message}`;
    assert.equal(checkRegex(pattern), whole);
    assert.throws(
      () => compileRegex(pattern),
      (error) => error instanceof RegexError && error.message === whole,
    );
  });
}

const large = [
  ["many repetitions", "[a-z]{1000}".repeat(200), "expression too large"],
  ["many alternatives", "ab|".repeat(100_000), "expression too large"],
  ["deep groups", "(".repeat(2500), "expression nests too deeply"],
  ["deep closed groups", `${"(".repeat(1500)}a${")".repeat(1500)}`, "expression nests too deeply"],
] as const;
for (const [name, pattern, what] of large) {
  test(`[RX5] ${name}: ${what}`, () => {
    assert.equal(checkRegex(pattern), `error parsing regexp: ${what}: \`${pattern}\``);
  });
}

/** Patterns, texts that they match as a whole, and texts that they do not. */
const matching: readonly (readonly [
  pattern: string,
  yes: readonly string[],
  no: readonly string[],
])[] = [
  ["", [""], ["a"]],
  ["a|", ["a", ""], ["b"]],
  ["abc", ["abc"], ["abcd", "xabc", "ABC"]],
  ["^abc$", ["abc"], ["abcd"]],
  ["a|bc|d[ef]", ["a", "bc", "de", "df"], ["d", "abc"]],
  [".*", ["", "a", "a\nb"], []],
  [".+", ["a", "\n"], [""]],
  ["(?-s).+", ["a"], ["\n", "a\nb"]],
  ["abc.*", ["abc", "abcd\n"], ["ab"]],
  [".*abc", ["abc", "xabc"], ["abcx"]],
  [".*abc.+", ["abcx", "xabcx"], ["abc", "xabc"]],
  ["a.*b.*c", ["abc", "axbxbxc"], ["acb", "ab"]],
  ["ab.*ba", ["abba", "ab-ba"], ["aba"]],
  ["a.+a", ["axa"], ["aa", "a"]],
  ["[^a-c]", ["d", "é", "😀", "\n"], ["a", "b", "dd"]],
  ["[]a]+", ["]a]"], ["["]],
  ["[a\\-z]", ["a", "-", "z"], ["b"]],
  ["[\\d-x]+", ["1-x"], ["y"]],
  ["[[:alpha:][:^print:]]+", ["aZ\u0001"], ["1"]],
  ["\\d\\D\\s\\S\\w\\W", ["1a z_-"], ["aa z_-"]],
  ["\\pL\\p{Greek}\\P{Greek}\\p{^L}", ["éα11"], ["1α11"]],
  ["\\p{Any}", ["x", "\u{10ffff}"], [""]],
  ["\\x41\\x{1F600}\\101\\0", ["A😀A\u0000"], ["A"]],
  ["\\Qa.b\\E+", ["a.bb"], ["axb"]],
  ["a\\.b\\_", ["a.b_"], ["axb_"]],
  ["(?i)straße", ["STRAßE", "straẞe"], ["strasse"]],
  ["(?i)k[s]", ["Ks", "KS", "\u212a\u017f"], ["kt"]],
  ["(?i)ı", ["ı"], ["i", "I"]],
  ["(?i:a)b", ["Ab", "ab"], ["aB"]],
  ["(?i)a(?-i)b", ["Ab"], ["AB"]],
  ["a{2,3}", ["aa", "aaa"], ["a", "aaaa"]],
  ["a{2,}b{0}", ["aa", "aaaaa"], ["a", "aab"]],
  ["a{,2}", ["a{,2}"], ["aa"]],
  ["x{", ["x{"], ["x"]],
  ["\\ba.*\\bb", ["a b", "a-b"], ["ab"]],
  ["a\\Bb", ["ab"], ["a b"]],
  ["(?m)a$\\n^b", ["a\nb"], ["ab"]],
  ["a$\\nb", [], ["a\nb"]],
  ["a^b|c", ["c"], ["ab"]],
  ["\\Aa\\z", ["a"], ["aa"]],
  ["(a|b)*c|(a|ab)*c", ["abc", "aabbc", "c"], ["ab"]],
  ["(?:(?:a*)*)*", ["", "aaa"], ["b"]],
  ["é+😀?", ["éé", "é😀"], ["😀"]],
];
for (const [pattern, yes, no] of matching) {
  test(`[RX2] ${pattern} matches whole texts as Go's expressions do`, () => {
    const { test: matches, exec } = compileRegex(pattern);
    for (const [texts, wanted] of [[yes, true] as const, [no, false] as const]) {
      for (const text of texts) {
        assert.equal(matches(text), wanted, `test ${JSON.stringify(text)}`);
        assert.equal(exec(text) !== undefined, wanted, `exec ${JSON.stringify(text)}`);
      }
    }
  });
}

const grouping: readonly (readonly [pattern: string, text: string, groups: readonly string[]])[] = [
  ["(a*)(a*)", "aa", ["aa", "aa", ""]],
  ["(a*?)(a*)", "aa", ["aa", "", "aa"]],
  ["(?U)(a*)(a*)", "aa", ["aa", "", "aa"]],
  ["(a|ab)(c|bcd)(d*)", "abcd", ["abcd", "a", "bcd", ""]],
  ["(a)|(b)", "b", ["b", "", "b"]],
  ["(?:(a)|b)*", "ab", ["ab", "a"]],
  ["(a|b)*", "ab", ["ab", "b"]],
  ["(|a)*", "aa", ["aa", "a"]],
  ["(|a)+", "aa", ["aa", "a"]],
  ["(?P<x>.)(?<y>.)(.)", "é😀z", ["é😀z", "é", "😀", "z"]],
  ["(.*)-([0-9]{2,})", "a-b-123", ["a-b-123", "a-b", "123"]],
];
for (const [pattern, text, groups] of grouping) {
  test(`[RX3] the groups of ${pattern} in ${text}`, () => {
    assert.deepEqual(compileRegex(pattern).exec(text), groups);
  });
}

test("[RX3] groups have names by number", () => {
  assert.deepEqual(compileRegex("(?P<x>.)(.)(?<y_1>.)").groupNames, ["", "x", "", "y_1"]);
});

test("[RX2] texts are listed where they are few", () => {
  assert.deepEqual(compileRegex("a|b[cd]|^e$").literals, undefined);
  assert.deepEqual(compileRegex("a|b[cd]|(e)").literals, ["a", "bc", "bd", "e"]);
  assert.deepEqual(compileRegex("^foo$").literals, ["foo"]);
  assert.deepEqual(compileRegex("(?i)a").literals, ["A", "a"]);
  assert.equal(compileRegex("a.*").literals, undefined);
  assert.equal(compileRegex("[ab]{3}").literals, undefined);
});
