import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Labels } from "../promql/core/index.ts";
import { floatText, JsonSink, timestampText } from "./json-sink.ts";
import { metricJson } from "./label-texts.ts";

const floats: readonly [value: number, text: string][] = [
  [0, "0"],
  [-0, "-0"],
  [1, "1"],
  [2_147_483_647, "2147483647"],
  [2_147_483_648, "2147483648"],
  [-7, "-7"],
  [0.1, "0.1"],
  [0.001, "0.001"],
  [-0.05, "-0.05"],
  [-12.5, "-12.5"],
  [-3, "-3"],
  [1999999.999, "1999999.999"],
  [0.30000000000000004, "0.30000000000000004"],
  [0.0015, "0.0015"],
  [1e-6, "0.000001"],
  [1e-7, "1e-07"],
  [1.5e-9, "1.5e-09"],
  [2.5e-300, "2.5e-300"],
  [1e20, "100000000000000000000"],
  [1e21, "1e+21"],
  [1.7976931348623157e308, "1.7976931348623157e+308"],
  [5e-324, "5e-324"],
  [Number.NaN, "NaN"],
  [Number.POSITIVE_INFINITY, "+Inf"],
  [Number.NEGATIVE_INFINITY, "-Inf"],
];
for (const [value, text] of floats) {
  test(`[QP6] ${text} is written as Prometheus writes it`, () => {
    const sink = new JsonSink();
    sink.quotedFloat(value);
    assert.equal(sink.takeText(), `"${text}"`);
    assert.equal(floatText(value), text);
  });
}

const times: readonly [ms: number, text: string][] = [
  [0, "0"],
  [1_700_000_000_123, "1700000000.123"],
  [1_700_000_000_050, "1700000000.050"],
  [1_700_000_000_000, "1700000000"],
  [-1, "-0.001"],
  [-1_500, "-1.500"],
];
for (const [ms, text] of times) {
  test(`[QP6] ${ms} ms are ${text}`, () => assert.equal(timestampText(ms), text));
}

const decimals = fc
  .tuple(fc.integer({ min: -3_000_000_000, max: 3_000_000_000 }), fc.integer({ min: 0, max: 5 }))
  .map(([digits, places]) => digits / 10 ** places);

test("[QP6] every float comes back from its text, which is JavaScript's", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), decimals),
      (value) => {
        const sink = new JsonSink();
        const prefix = Buffer.from(',[1,"');
        sink.point(prefix, 1, prefix.length, value);
        const [at, text] = JSON.parse(sink.takeText()) as [number, string];
        assert.equal(at, 1);
        assert.ok(Object.is(Number(text), value));
        assert.equal(text, floatText(value));
      },
    ),
  );
});

test("[QP6] bytes that are no text are U+FFFD in a string and in a label's value", () => {
  const text = "a\udcffb"; // How the parser gives "a\\xffb".
  const sink = new JsonSink();
  sink.text(text);
  assert.equal(sink.takeText(), '"a\ufffdb"');
  assert.equal(metricJson(Labels.of({ a: text })), '{"a":"a\ufffdb"}');
});

test("[QP6] the sink grows, and begins anew when it is taken", () => {
  const sink = new JsonSink();
  const long = "ä".repeat(100_000);
  sink.text(long);
  assert.equal(JSON.parse(Buffer.from(sink.take()).toString()), long);
  assert.equal(sink.length, 0);
  sink.ascii("[]");
  assert.equal(sink.takeText(), "[]");
});
