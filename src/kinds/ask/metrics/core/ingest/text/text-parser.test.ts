import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { usualLabelLimits } from "../label-limits.ts";
import { LineError } from "./line-error.ts";
import { openMetricsFloat, parseFloat64 } from "./parse-number.ts";
import type { TextFormat } from "./parse-series.ts";
import type { ParsedExemplar } from "./text-columns.ts";
import { TextParser } from "./text-parser.ts";

interface Row {
  readonly labels: Record<string, string>;
  readonly value: number;
  readonly ts: number;
  readonly startTs: number;
}

interface Parsed {
  readonly rows: Row[];
  readonly exemplars: ParsedExemplar[];
  readonly parser: TextParser;
}

function parse(
  text: string,
  format: TextFormat,
  options: Partial<{ required: boolean; skip: boolean; cuts: number[] }> = {},
): Parsed {
  const parser = new TextParser({
    format,
    timestampsRequired: options.required ?? false,
    onError: options.skip === true ? "skip" : "fail",
  });
  const bytes = new TextEncoder().encode(text);
  const rows: Row[] = [];
  const exemplars: ParsedExemplar[] = [];
  const take = (): void => {
    const block = parser.take();
    for (let index = 0; index < block.count; index += 1) {
      rows.push({
        labels: parser.labelsOf(block.series[index] as number).toRecord(),
        value: block.values[index] as number,
        ts: block.ts[index] as number,
        startTs: block.startTs?.[index] ?? 0,
      });
    }
    exemplars.push(...block.exemplars);
  };
  let from = 0;
  for (const cut of options.cuts ?? []) {
    parser.feed(bytes.slice(from, cut));
    take();
    from = cut;
  }
  parser.feed(bytes.slice(from));
  parser.end();
  take();
  return { rows, exemplars, parser };
}

const none = Number.NaN;

const goodPrometheus = [
  {
    name: "a name and a value",
    text: "up 1\n",
    want: [{ labels: { __name__: "up" }, value: 1, ts: none }],
  },
  {
    name: "no line feed at the end",
    text: "up 1",
    want: [{ labels: { __name__: "up" }, value: 1, ts: none }],
  },
  {
    name: "a timestamp in milliseconds",
    text: "up 1 1700000000123\n",
    want: [{ labels: { __name__: "up" }, value: 1, ts: 1_700_000_000_123 }],
  },
  {
    name: "labels",
    text: 'a{x="1",y="2"} 3\n',
    want: [{ labels: { __name__: "a", x: "1", y: "2" }, value: 3, ts: none }],
  },
  {
    name: "empty braces",
    text: "a{} 3\n",
    want: [{ labels: { __name__: "a" }, value: 3, ts: none }],
  },
  {
    name: "a comma at the end",
    text: 'a{x="1",} 3\n',
    want: [{ labels: { __name__: "a", x: "1" }, value: 3, ts: none }],
  },
  {
    name: "no comma between",
    text: 'a{x="1"y="2"} 3\n',
    want: [{ labels: { __name__: "a", x: "1", y: "2" }, value: 3, ts: none }],
  },
  {
    name: "blanks everywhere",
    text: ' \ta { x = "1" ,\ty="2" }\t3 \t 4 \n',
    want: [{ labels: { __name__: "a", x: "1", y: "2" }, value: 3, ts: 4 }],
  },
  {
    name: "escapes in values",
    text: 'a{x="\\"\\\\\\n\\t"} 1\n',
    want: [{ labels: { __name__: "a", x: '"\\\n\\t' }, value: 1, ts: none }],
  },
  {
    name: "braces, commas and hashes in values",
    text: 'a{x="}{,=# "} 1\n',
    want: [{ labels: { __name__: "a", x: "}{,=# " }, value: 1, ts: none }],
  },
  {
    name: "an empty value is no label",
    text: 'a{x=""} 1\n',
    want: [{ labels: { __name__: "a" }, value: 1, ts: none }],
  },
  {
    name: "quoted names",
    text: '{"my.metric","a.b"="c",d="e"} 1\n',
    want: [{ labels: { __name__: "my.metric", "a.b": "c", d: "e" }, value: 1, ts: none }],
  },
  {
    name: "a quoted metric name anywhere in the braces",
    text: '{a="1","m"} 1\n',
    want: [{ labels: { __name__: "m", a: "1" }, value: 1, ts: none }],
  },
  {
    name: "UTF-8 values",
    text: 'a{x="größe 😀"} 1\n',
    want: [{ labels: { __name__: "a", x: "größe 😀" }, value: 1, ts: none }],
  },
  {
    name: "comments and empty lines",
    text: "#\n#x\n# HELPx y\n\n  # x\nup 1\n",
    want: [{ labels: { __name__: "up" }, value: 1, ts: none }],
  },
  {
    name: "a colon in a name",
    text: "job:up:sum 1\n",
    want: [{ labels: { __name__: "job:up:sum" }, value: 1, ts: none }],
  },
  {
    name: "a bound written in one way",
    text: '# TYPE h histogram\nh_bucket{le="1"} 2\nh_bucket{le="1e-05"} 1\nh_bucket{le="+Inf"} 2\n',
    want: [
      { labels: { __name__: "h_bucket", le: "1.0" }, value: 2, ts: none },
      { labels: { __name__: "h_bucket", le: "1e-05" }, value: 1, ts: none },
      { labels: { __name__: "h_bucket", le: "+Inf" }, value: 2, ts: none },
    ],
  },
  {
    name: "a bound of a gauge left alone",
    text: '# TYPE h gauge\nh{le="1"} 2\n',
    want: [{ labels: { __name__: "h", le: "1" }, value: 2, ts: none }],
  },
  {
    name: "the same text under another type",
    text: '# TYPE h histogram\nh{le="1"} 2\n# TYPE h gauge\nh{le="1"} 3\n',
    want: [
      { labels: { __name__: "h", le: "1.0" }, value: 2, ts: none },
      { labels: { __name__: "h", le: "1" }, value: 3, ts: none },
    ],
  },
];
for (const { name, text, want } of goodPrometheus) {
  test(`[IN5] Prometheus text: ${name}`, () => {
    const rows = parse(text, "prometheus").rows;
    assert.deepEqual(
      rows,
      want.map((row) => ({ ...row, startTs: 0 })),
    );
  });
}

const badPrometheus = [
  { text: "up\n", want: /^line 1: expected value after metric/ },
  { text: "a 1\nb x\n", want: /^line 2: expected value after metric, got "x"/ },
  { text: "a 0x10\n", want: /^line 1: expected value after metric, got "0x10"/ },
  { text: "a 1_000\n", want: /got "1_000"/ },
  { text: "a 1e999\n", want: /got "1e999"/ },
  { text: "a 1 2 3\n", want: /^line 1: expected next entry after timestamp/ },
  { text: "a 1 -5\n", want: /expected timestamp or new record, got "-5"/ },
  { text: "a 1 1.5\n", want: /expected timestamp or new record, got "1.5"/ },
  { text: "a 1\r\n", want: /got "1\\r"/ },
  { text: "1a 1\n", want: /expected a valid start token, got "1"/ },
  { text: 'a{x="1" 2\n', want: /^line 1: expected label name/ },
  { text: "a{x} 1\n", want: /expected equal/ },
  { text: "a{x=1} 1\n", want: /expected label value/ },
  { text: 'a{x="1} 1\n', want: /expected a closing quote/ },
  { text: 'a{x="1",,} 1\n', want: /expected label name/ },
  { text: 'a{x="1",x="2"} 1\n', want: /label name "x" is not unique/ },
  { text: 'a{__name__="b"} 1\n', want: /label name "__name__" is not unique/ },
  { text: '{x="1"} 1\n', want: /metric name not set/ },
  { text: '{"a","b"} 1\n', want: /metric name already set/ },
  { text: 'a{"b"} 1\n', want: /metric name already set/ },
  { text: "# TYPE a x\n", want: /^line 1: invalid metric type "x"/ },
  { text: "# TYPE a\n", want: /invalid metric type ""/ },
  { text: "# TYPE 1a gauge\n", want: /expected metric name after TYPE/ },
  { text: "a{}1\n", want: /expected value after metric/ },
  { text: "a 1 9223372036854775807\n", want: /expected timestamp or new record, got "922/ },
];
for (const { text, want } of badPrometheus) {
  test(`[IN5] Prometheus text refuses ${JSON.stringify(text)}`, () => {
    assert.throws(
      () => parse(text, "prometheus"),
      (thrown: unknown) => {
        assert.ok(thrown instanceof LineError);
        assert.match(thrown.message, want);
        return true;
      },
    );
  });
}

const badOpenMetrics = [
  { text: "a 1\n", want: /^line 2: data does not end with # EOF/ },
  { text: "", want: /data does not end with # EOF/ },
  { text: "# EOF\na 1\n", want: /^line 2: unexpected data after # EOF/ },
  { text: "# EOF\n\n", want: /unexpected data after # EOF/ },
  { text: "\n# EOF\n", want: /^line 1: expected a valid start token/ },
  { text: "# a comment\n# EOF\n", want: /expected a valid start token, got "# a comment"/ },
  { text: "a  1\n# EOF\n", want: /expected value after metric/ },
  { text: "a 1 \n# EOF\n", want: /expected timestamp or new record/ },
  { text: "a 1  5\n# EOF\n", want: /expected timestamp/ },
  { text: "a\t1\n# EOF\n", want: /expected value after metric/ },
  { text: "a 1 NaN\n# EOF\n", want: /invalid timestamp/ },
  { text: "a 1 1e300\n# EOF\n", want: /invalid timestamp 1e\+300/ },
  { text: "a 1 -9007199254741\n# EOF\n", want: /invalid timestamp -9007199254741/ },
  { text: "a 1 x\n# EOF\n", want: /expected timestamp, got "x"/ },
  { text: 'a{x="1" y="2"} 1\n# EOF\n', want: /expected comma or brace close/ },
  { text: 'a{ x="1"} 1\n# EOF\n', want: /expected label name/ },
  { text: 'a {x="1"} 1\n# EOF\n', want: /got "\{x=\\"1\\"\}"/ },
  { text: "# TYPE a untyped\n# EOF\n", want: /invalid metric type "untyped"/ },
  { text: "# TYPE a\n# EOF\n", want: /expected text in TYPE/ },
  {
    text: "# UNIT a_seconds bytes\n# EOF\n",
    want: /unit "bytes" not a suffix of metric "a_seconds"/,
  },
  { text: 'a 1 # {x="1"}\n# EOF\n', want: /expected value after exemplar labels/ },
  { text: 'a 1 # {x="1"} 1 2 3\n# EOF\n', want: /expected next entry after exemplar timestamp/ },
  { text: 'a 1 # {"x"} 1\n# EOF\n', want: /expected equal/ },
  { text: "a 1 # x\n# EOF\n", want: /expected timestamp or comment/ },
];
for (const { text, want } of badOpenMetrics) {
  test(`[IN6] OpenMetrics refuses ${JSON.stringify(text)}`, () => {
    assert.throws(
      () => parse(text, "openmetrics"),
      (thrown: unknown) => {
        assert.ok(thrown instanceof LineError);
        assert.match(thrown.message, want);
        return true;
      },
    );
  });
}

const openMetrics = `# HELP http_requests Requests, \\"all\\" of them.\\nReally.
# TYPE http_requests counter
http_requests_total{code="200"} 5 1700000000.5 # {trace_id="a b"} 0.25 1700000000.25
http_requests_created{code="200"} 1699990000.125
http_requests_total{code="500"} 1 1700000000
http_requests_created{code="500"} 1699990001
# TYPE took_seconds histogram
# UNIT took_seconds seconds
took_seconds_bucket{le="0.5"} 1
took_seconds_bucket{le="+Inf"} 2 # {} 7
took_seconds_count 2
took_seconds_sum 7.5
took_seconds_created 1699990002
# TYPE temperature gauge
temperature_created 3
{"größe.x"} 1
# EOF
`;

test("[IN6] OpenMetrics: values, seconds, starts, exemplars, metadata", () => {
  const { rows, exemplars, parser } = parse(openMetrics, "openmetrics");
  const shown = rows.map(({ labels: { __name__, ...rest }, value, ts, startTs }) => [
    __name__,
    rest,
    value,
    ts,
    startTs,
  ]);
  assert.deepEqual(shown, [
    ["http_requests_total", { code: "200" }, 5, 1_700_000_000_500, 1_699_990_000_125],
    ["http_requests_total", { code: "500" }, 1, 1_700_000_000_000, 1_699_990_001_000],
    ["took_seconds_bucket", { le: "0.5" }, 1, none, 1_699_990_002_000],
    ["took_seconds_bucket", { le: "+Inf" }, 2, none, 1_699_990_002_000],
    ["took_seconds_count", {}, 2, none, 1_699_990_002_000],
    ["took_seconds_sum", {}, 7.5, none, 1_699_990_002_000],
    ["temperature_created", {}, 3, none, 0],
    ["größe.x", {}, 1, none, 0],
  ]);
  assert.deepEqual(
    exemplars.map(({ series, labels, value, ts, sampleTs }) => [
      parser.labelsOf(series).name,
      labels.toRecord(),
      value,
      ts,
      sampleTs,
    ]),
    [
      ["http_requests_total", { trace_id: "a b" }, 0.25, 1_700_000_000_250, 1_700_000_000_500],
      ["took_seconds_bucket", {}, 7, none, none],
    ],
  );
  assert.deepEqual(parser.takeMetadata(), [
    {
      metric: "http_requests",
      type: "counter",
      help: 'Requests, "all" of them.\nReally.',
      unit: "",
    },
    { metric: "took_seconds", type: "histogram", help: "", unit: "seconds" },
    { metric: "temperature", type: "gauge", help: "", unit: "" },
  ]);
});

test("[IN7] however the bytes are cut, the same comes out", () => {
  const whole = parse(openMetrics, "openmetrics");
  const length = new TextEncoder().encode(openMetrics).length;
  for (let cut = 0; cut <= length; cut += 1) {
    const cutOnce = parse(openMetrics, "openmetrics", { cuts: [cut] });
    assert.deepEqual(cutOnce.rows, whole.rows, `cut at ${cut}`);
    assert.equal(cutOnce.exemplars.length, whole.exemplars.length);
  }
  const cuts = fc.array(fc.nat(length), { maxLength: 20 }).map((all) => all.sort((a, b) => a - b));
  fc.assert(
    fc.property(cuts, (all) => {
      assert.deepEqual(parse(openMetrics, "openmetrics", { cuts: all }).rows, whole.rows);
    }),
    { numRuns: 100 },
  );
});

test("[IN5] a series is not taken for another that its text begins with", () => {
  const lines = [
    "a 1",
    'a {x="1"} 2',
    'a{x="1"} 3',
    "a  4",
    "a\t5",
    'a{x="1", y="2"} 6',
    "ab 7",
    'a{x="1"}8',
  ];
  const twice = [...lines.slice(0, -1), ...lines.slice(0, -1)].join("\n");
  const { rows, parser } = parse(`${twice}\n`, "prometheus");
  const seen = rows.map(
    ({ labels: { __name__, x, y }, value }) => `${__name__} ${x ?? ""}${y ?? ""} ${value}`,
  );
  const want = ["a  1", "a 1 2", "a 1 3", "a  4", "a  5", "a 12 6", "ab  7"];
  assert.deepEqual(seen, [...want, ...want]);
  assert.equal(parser.seriesCount, 5, "one for each spelling");
  assert.throws(() => parse(lines.join("\n"), "prometheus"), /line 8: expected value after metric/);
});

test("[IN8] a sample without a timestamp is an error where one is required", () => {
  assert.throws(
    () => parse("a 1 5\nb 2\n", "prometheus", { required: true }),
    /line 2: a sample has no timestamp$/,
  );
  assert.throws(
    () => parse("a 1 5\nb 2 # {} 1\n# EOF\n", "openmetrics", { required: true }),
    /line 2: a sample has no timestamp/,
  );
});

test("[IN8] bad lines may be left out, and are counted with their numbers", () => {
  const { rows, parser } = parse("a 1\nb x\n{ 1\nc 3\n# TYPE a b\nd 4", "prometheus", {
    skip: true,
  });
  assert.deepEqual(
    rows.map(({ labels }) => labels.__name__),
    ["a", "c", "d"],
  );
  assert.equal(parser.skippedCount, 3);
  assert.deepEqual(
    parser.problems.map((problem) => problem.slice(0, 7)),
    ["line 2:", "line 3:", "line 5:"],
  );
});

test("[IN7] a line that is not UTF-8 is named, and the others are read", () => {
  const bytes = new Uint8Array([
    ...new TextEncoder().encode('a 1\nb{x="'),
    0xff,
    ...new TextEncoder().encode('"} 2\nc 3\n'),
  ]);
  const strict = new TextParser({
    format: "prometheus",
    timestampsRequired: false,
    onError: "fail",
  });
  assert.throws(() => strict.feed(bytes), /line 2: it is not valid UTF-8/);
  const lax = new TextParser({ format: "prometheus", timestampsRequired: false, onError: "skip" });
  lax.feed(bytes);
  lax.end();
  assert.equal(lax.take().count, 2);
  assert.equal(lax.skippedCount, 1);
});

test("[IN7] a line without an end is refused before it fills memory", () => {
  const parser = new TextParser({
    format: "prometheus",
    timestampsRequired: false,
    onError: "skip",
  });
  const chunk = new Uint8Array(1024 * 1024).fill(0x61);
  assert.throws(() => {
    for (let index = 0; index < 8; index += 1) parser.feed(chunk);
  }, /line 1: a line has more than 4194304 bytes/);
});

test("[IN7] a second text of the same source knows the series, and none of the first one's starts", () => {
  const parser = new TextParser({
    format: "openmetrics",
    timestampsRequired: false,
    onError: "fail",
  });
  const read = (text: string): readonly [number, number, number] => {
    parser.begin();
    parser.feed(new TextEncoder().encode(text));
    parser.end();
    const { count, series, startTs } = parser.take();
    return [count, series[0] as number, startTs?.[0] ?? 0];
  };
  assert.deepEqual(read("# TYPE a counter\na_total 1\na_created 5\n# EOF\n"), [1, 0, 5_000]);
  assert.deepEqual(read("# TYPE a counter\na_total 2\n# EOF\n"), [1, 0, 0]);
  assert.equal(parser.seriesCount, 1);
});

test("[IN7] any bytes at all give samples or a refusal, and end", () => {
  const alphabet = fc.constantFrom(
    ...'aé_{}",=\\ \t\n#01.e+-',
    "# TYPE a counter\n",
    "# EOF\n",
    'a{b="c"} 1',
  );
  const text = fc.array(alphabet, { maxLength: 40 }).map((parts) => parts.join(""));
  for (const format of ["openmetrics", "prometheus"] as const) {
    fc.assert(
      fc.property(text, fc.boolean(), (input, skip) => {
        try {
          parse(input, format, { skip });
        } catch (thrown) {
          assert.ok(thrown instanceof LineError, String(thrown));
        }
      }),
      { numRuns: 1_000 },
    );
  }
});

test("[IN5] numbers are read as their whole text says", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.integer().map((n) => n / 1000),
      ),
      (value) => {
        const texts = [
          String(value),
          value.toExponential(),
          value.toFixed(Math.abs(value) < 1e15 ? 6 : 0),
        ];
        for (const text of texts) {
          const [row] = parse(`a ${text}\n`, "prometheus").rows;
          assert.ok(Object.is(row?.value, Number(text)), `${text}: ${row?.value}`);
        }
      },
    ),
    { numRuns: 300 },
  );
});

const floats = [
  ["1", 1],
  ["+1", 1],
  ["-1.5e3", -1500],
  [".5", 0.5],
  ["5.", 5],
  ["inf", Infinity],
  ["-Infinity", -Infinity],
  ["NaN", NaN],
  ["nan", NaN],
  ["+NaN", undefined],
  ["", undefined],
  ["e5", undefined],
  ["1e", undefined],
  ["0x1p3", undefined],
  ["1e400", undefined],
  ["infi", undefined],
  [".", undefined],
] as const;
test("[IN5] what is a number", () => {
  for (const [text, want] of floats) assert.ok(Object.is(parseFloat64(text), want), text);
});

test("[IN6] bounds are written as OpenMetrics does", () => {
  const cases = [
    [1, "1.0"],
    [0, "0.0"],
    [-1, "-1.0"],
    [0.1, "0.1"],
    [1e-5, "1e-05"],
    [0.0001, "0.0001"],
    [1e21, "1e+21"],
    [1e20, "100000000000000000000.0"],
    [12345678, "12345678.0"],
    [1.5e-10, "1.5e-10"],
    [Infinity, "+Inf"],
  ] as const;
  for (const [value, want] of cases) assert.equal(openMetricsFloat(value), want);
});

test("[IN30] a series with too many or too long labels is a bad line", () => {
  const labelLimits = {
    ...usualLabelLimits,
    labels_per_series: 3,
    label_name_bytes: 10,
    label_value_bytes: 20,
  };
  for (const [line, limit] of [
    ['m{a="1",b="2",c="3"} 1 1', "labels_per_series"],
    [`m{a="${"x".repeat(21)}"} 1 1`, "label_value_bytes"],
    ['m{abcdefghijk="1"} 1 1', "label_name_bytes"],
  ] as const) {
    const parser = new TextParser({
      format: "prometheus",
      timestampsRequired: true,
      onError: "fail",
      labelLimits,
    });
    const feed = (): void => {
      parser.feed(new TextEncoder().encode(`ok{a="1"} 1 1\n${line}\n`));
      parser.end();
    };
    assert.throws(feed, (error: Error) => {
      assert.match(error.message, new RegExp(`2.*${limit}`));
      return true;
    });
  }
});
