import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { Labels } from "../../../../promql/core/index.ts";
import { md5Tail } from "./md5.ts";
import { parseRelabelRules } from "./parse-relabel-rules.ts";
import { relabel } from "./relabel.ts";
import { readYaml } from "./yaml-reader.ts";

type Record_ = Readonly<Record<string, string>>;

function run(rules: string, labels: Record_): Record_ | undefined {
  return relabel(Labels.of(labels), parseRelabelRules(readYaml(rules).items()))?.toRecord();
}

const abc = { a: "foo", b: "bar", c: "baz" };

const cases: { name: string; rules: string; labels: Record_; want: Record_ | undefined }[] = [
  {
    name: "replace with groups",
    rules: `[{source_labels: [a], regex: 'f(.*)', target_label: d, replacement: 'ch\${1}-ch\${1}'}]`,
    labels: abc,
    want: { ...abc, d: "choo-choo" },
  },
  {
    name: "several sources and a separator",
    rules:
      "[{source_labels: [a, b], separator: '-', regex: 'f(.*)-(.*)r', target_label: a, replacement: '$1$2$2$$'}]",
    labels: abc,
    want: { ...abc, a: "oobaba$" },
  },
  {
    name: "without a match nothing is replaced",
    rules: "[{source_labels: [a], regex: 'x', target_label: d, replacement: 'y'}]",
    labels: abc,
    want: abc,
  },
  {
    name: "the match is of the whole value",
    rules: "[{source_labels: [a], regex: 'fo', target_label: d, replacement: 'y'}]",
    labels: abc,
    want: abc,
  },
  {
    name: "an empty replacement removes",
    rules: "[{source_labels: [a], target_label: a, replacement: ''}]",
    labels: abc,
    want: { b: "bar", c: "baz" },
  },
  {
    name: "without a source a constant is set",
    rules: "[{target_label: d, replacement: x}]",
    labels: abc,
    want: { ...abc, d: "x" },
  },
  {
    name: "the target is a template too",
    rules: "[{source_labels: [a], regex: '(f)(oo)', target_label: 'x_$2', replacement: '$1'}]",
    labels: abc,
    want: { ...abc, x_oo: "f" },
  },
  {
    name: "a name without braces is as long as it goes",
    rules: "[{source_labels: [a], regex: '(f).*', target_label: d, replacement: '$1x'}]",
    labels: abc,
    want: abc,
  },
  {
    name: "named groups",
    rules: `[{source_labels: [a], regex: '(?P<first>.)(.*)', target_label: d, replacement: '\${first}!$2'}]`,
    labels: abc,
    want: { ...abc, d: "f!oo" },
  },
  {
    name: "a dot matches a line feed",
    rules: "[{source_labels: [a], regex: 'x.y', target_label: d, replacement: z}]",
    labels: { a: "x\ny" },
    want: { a: "x\ny", d: "z" },
  },
  {
    name: "drop",
    rules: "[{source_labels: [a], regex: '.*o.*', action: drop}]",
    labels: abc,
    want: undefined,
  },
  {
    name: "drop nothing",
    rules: "[{source_labels: [a], regex: 'f|o', action: drop}]",
    labels: abc,
    want: abc,
  },
  {
    name: "keep",
    rules: "[{source_labels: [a], regex: 'f.o', action: keep}]",
    labels: abc,
    want: abc,
  },
  {
    name: "keep nothing",
    rules: "[{source_labels: [z], regex: '.+', action: keep}]",
    labels: abc,
    want: undefined,
  },
  {
    name: "keepequal",
    rules: "[{source_labels: [a], target_label: b, action: keepequal}]",
    labels: { a: "x", b: "x" },
    want: { a: "x", b: "x" },
  },
  {
    name: "keepequal of others",
    rules: "[{source_labels: [a], target_label: b, action: keepequal}]",
    labels: abc,
    want: undefined,
  },
  {
    name: "dropequal",
    rules: "[{source_labels: [a], target_label: b, action: dropequal}]",
    labels: { a: "x", b: "x" },
    want: undefined,
  },
  {
    name: "dropequal of others",
    rules: "[{source_labels: [a], target_label: b, action: DropEqual}]",
    labels: abc,
    want: abc,
  },
  {
    name: "labelmap",
    rules: "[{regex: '__meta_(my.*)', action: labelmap}]",
    labels: { a: "1", __meta_my_x: "2", __meta_other: "3" },
    want: { a: "1", __meta_my_x: "2", __meta_other: "3", my_x: "2" },
  },
  {
    name: "labelmap with a replacement",
    rules: `[{regex: 'a(.*)', replacement: 'p_\${1}_s', action: labelmap}]`,
    labels: { ab: "1" },
    want: { ab: "1", p_b_s: "1" },
  },
  {
    name: "labeldrop",
    rules: "[{regex: 'b.*', action: labeldrop}]",
    labels: { a: "1", b: "2", bc: "3" },
    want: { a: "1" },
  },
  {
    name: "labelkeep",
    rules: "[{regex: 'b.*', action: labelkeep}]",
    labels: { a: "1", b: "2", bc: "3" },
    want: { b: "2", bc: "3" },
  },
  {
    name: "lowercase and uppercase",
    rules:
      "[{source_labels: [a], target_label: l, action: lowercase}, {source_labels: [a], target_label: u, action: uppercase}]",
    labels: { a: "BaR123" },
    want: { a: "BaR123", l: "bar123", u: "BAR123" },
  },
  {
    name: "rules in order",
    rules:
      "[{source_labels: [a], target_label: b}, {source_labels: [b], regex: foo, action: drop}]",
    labels: abc,
    want: undefined,
  },
];
for (const { name, rules, labels, want } of cases) {
  test(`[IN10] relabel: ${name}`, () => assert.deepEqual(run(rules, labels), want));
}

test("[IN10] hashmod is MD5's last eight bytes, as in Prometheus", () => {
  const rules = "[{source_labels: [c], target_label: d, action: hashmod, modulus: 1000}]";
  assert.equal(run(rules, { a: "foo", b: "bar", c: "baz" })?.d, "976");
  fc.assert(
    fc.property(fc.string({ maxLength: 200, unit: "binary" }), (text) => {
      const digest = createHash("md5").update(text, "utf8").digest();
      assert.equal(md5Tail(text), digest.readBigUInt64BE(8));
    }),
  );
});

const refused = [
  { rules: "[{action: hashmod, target_label: a}]", want: /requires non-zero modulus/ },
  {
    rules: "[{source_labels: [a]}]",
    want: /relabel configuration for replace action requires 'target_label' value/,
  },
  { rules: "[{action: explode}]", want: /unknown relabel action "explode"/ },
  {
    rules: "[{action: labeldrop, source_labels: [a]}]",
    want: /labeldrop action requires only 'regex', and no other fields/,
  },
  {
    rules: "[{action: keepequal, target_label: a, regex: x}]",
    want: /keepequal action requires only 'source_labels'/,
  },
  {
    rules: "[{action: lowercase, target_label: a, replacement: x}]",
    want: /'replacement' can not be set for lowercase action/,
  },
  { rules: "[{regex: '(', target_label: a}]", want: /line 1: \[0\]\.regex: / },
  {
    rules: "[{regexp: x, target_label: a}]",
    want: /line 1: \[0\]\.regexp: there is no field "regexp"/,
  },
];
for (const { rules, want } of refused) {
  test(`[IN10] a rule is refused: ${rules}`, () => {
    assert.throws(() => run(rules, {}), want);
  });
}
