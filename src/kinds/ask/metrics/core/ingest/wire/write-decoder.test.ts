import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Labels } from "../../../../promql/core/index.ts";
import type { SampleBatch } from "../../model.ts";
import { BatchBuilder } from "../batch-builder.ts";
import { usualLabelLimits } from "../label-limits.ts";
import { MalformedInput } from "../malformed.ts";
import { arbitraryBatch, histogramOf } from "../testing/arbitrary-batch.ts";
import { encodeRequest1, encodeRequest2, writeSpan } from "../testing/encode-write.ts";
import { ProtoWriter, staleBytes } from "../testing/proto-writer.ts";
import { WriteDecoder } from "./write-decoder.ts";

const protocols = [
  { protocol: "1", encode: encodeRequest1 },
  { protocol: "2", encode: encodeRequest2 },
] as const;

for (const { protocol, encode } of protocols) {
  test(`[IN2] remote write ${protocol}: what was encoded is decoded, new or known`, () => {
    const decoder = new WriteDecoder(); // Shared by all runs: what it remembers must not matter.
    fc.assert(
      fc.property(arbitraryBatch, (batch) => {
        const body = encode(batch);
        for (let turn = 0; turn < 2; turn += 1) {
          const { batch: decoded, problems } = decoder.decode(body, protocol);
          assert.deepEqual(problems, []);
          assert.deepEqual(plain(decoded), plain(batch));
        }
      }),
      { numRuns: 150 },
    );
  });

  test(`[IN3] remote write ${protocol}: a body cut off anywhere is refused, or was whole before`, () => {
    const body = encode(fullBatch());
    for (let length = 0; length < body.length; length += 1) {
      const decoder = new WriteDecoder();
      try {
        const { batch } = decoder.decode(body.subarray(0, length), protocol);
        assert.ok(batch.count <= 4);
      } catch (thrown) {
        assert.ok(thrown instanceof MalformedInput, String(thrown));
      }
    }
  });

  test(`[IN3] remote write ${protocol}: any bit flipped gives an answer or a refusal, and ends`, () => {
    const body = encode(fullBatch());
    const decoder = new WriteDecoder();
    for (let at = 0; at < body.length; at += 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        const changed = body.slice();
        changed[at] = (changed[at] as number) ^ (1 << bit);
        try {
          decoder.decode(changed, protocol);
        } catch (thrown) {
          assert.ok(thrown instanceof MalformedInput, String(thrown));
        }
      }
    }
  });

  test(`[IN3] remote write ${protocol}: any bytes at all give an answer or a refusal`, () => {
    const decoder = new WriteDecoder();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (body) => {
        try {
          decoder.decode(body, protocol);
        } catch (thrown) {
          assert.ok(thrown instanceof MalformedInput, String(thrown));
        }
      }),
      { numRuns: 500 },
    );
  });
}

const labelLimits = {
  ...usualLabelLimits,
  labels_per_series: 4,
  label_name_bytes: 10,
  label_value_bytes: 20,
};
const tooMuch: readonly (readonly [name: string, Record<string, string>, RegExp])[] = [
  [
    "labels",
    { __name__: "m", a: "1", b: "2", c: "3", d: "4" },
    /^a series of "m" has 5 labels; the limit labels_per_series is 4$/,
  ],
  ["a name", { __name__: "m", abcdefghijk: "1" }, /"abcdefghijk" .* label_name_bytes is 10$/],
  ["a value", { __name__: "m", a: "x".repeat(21) }, /label "a" .* label_value_bytes is 20$/],
  ["a metric's name", { __name__: "m".repeat(21) }, /"__name__" .* label_value_bytes is 20$/],
  ["a value in bytes", { __name__: "m", a: "ä".repeat(11) }, /label_value_bytes is 20$/],
];
for (const { protocol, encode } of protocols) {
  for (const [what, labels, problem] of tooMuch) {
    test(`[IN30] remote write ${protocol}: too much of ${what} costs its own series only, known or not`, () => {
      const builder = new BatchBuilder();
      builder.addFloat(builder.addSeries(Labels.fromPairs(Object.entries(labels))), 1, 1);
      const fine = { __name__: "m", a: "x".repeat(20), b: "ä".repeat(10), cdefghijkl: "1" };
      builder.addFloat(builder.addSeries(Labels.fromPairs(Object.entries(fine))), 1, 1);
      const decoder = new WriteDecoder(labelLimits);
      for (let turn = 0; turn < 2; turn += 1) {
        const decoded = decoder.decode(encode(builder.build()), protocol);
        assert.equal(decoded.batch.count, 1);
        assert.match(decoded.problems.join("\n"), problem);
      }
    });
  }

  test(`[IN30] remote write ${protocol}: labels that are too long together, and histograms of too many buckets, are refused by name`, () => {
    const builder = new BatchBuilder();
    const pairs = Array.from({ length: 9 }, (_, n): [string, string] => [
      `l${n}`,
      "ä".repeat(4_000),
    ]);
    builder.addFloat(builder.addSeries(Labels.fromPairs([["__name__", "m"], ...pairs])), 1, 1);
    const series = builder.addSeries(Labels.fromPairs([["__name__", "h"]]));
    builder.addHistogram(series, 1, histogramOf(new Array<number>(5_000).fill(1), 1));
    builder.addHistogram(series, 2, histogramOf(new Array<number>(4_000).fill(1), 1));
    const { batch, problems } = new WriteDecoder().decode(encode(builder.build()), protocol);
    assert.deepEqual([...batch.ts.subarray(0, batch.count)], [2]);
    assert.match(problems[0] ?? "", /too long together; the limit series_label_bytes is 65536$/);
    assert.match(problems[1] ?? "", /too many buckets; the limit buckets_per_histogram is 4096/);
  });

  test(`[IN30] remote write ${protocol}: a million labels and a value of 10 MB are refused in a short text`, () => {
    const builder = new BatchBuilder();
    const many = Array.from({ length: 200_000 }, (_, n): [string, string] => [`l${n}`, "v"]);
    const huge: [string, string][] = [["a", "x".repeat(10_000_000)]];
    for (const pairs of [many, huge]) {
      const labels = Labels.fromPairs([["__name__", "m"], ...pairs]);
      builder.addFloat(builder.addSeries(labels), 1, 1);
    }
    const { batch, problems } = new WriteDecoder().decode(encode(builder.build()), protocol);
    assert.equal(batch.count, 0);
    assert.equal(problems.length, 2);
    for (const text of problems) assert.ok(text.length < 300, text.slice(0, 300));
  });
}

test("[IN2] metadata and exemplars are carried", () => {
  for (const { protocol, encode } of protocols) {
    const { batch } = new WriteDecoder().decode(encode(fullBatch()), protocol);
    assert.deepEqual(batch.metadata, [
      { metric: "up", type: "gauge", help: "Whether it is up.", unit: "targets" },
    ]);
    assert.deepEqual(
      batch.exemplars.map(({ series, labels, value, ts }) => [
        series.name,
        labels.toRecord(),
        value,
        ts,
      ]),
      [["up", { trace_id: "abc" }, 0.5, 1_700_000_000_001]],
    );
  }
});

test("[IN2] start timestamps of protocol 2 are carried, of samples and histograms", () => {
  const { batch } = new WriteDecoder().decode(encodeRequest2(fullBatch()), "2");
  assert.deepEqual([...(batch.startTs ?? [])], [1_699_999_000_000, 0, 0, 1_699_999_000_001]);
});

test("[IN2] a start that no segment could hold is unknown", () => {
  for (const startTs of [2 ** 60, -(2 ** 60)]) {
    const batch = { ...fullBatch(), startTs: new Float64Array(4).fill(startTs) };
    const decoded = new WriteDecoder().decode(encodeRequest2(batch), "2").batch;
    assert.equal(decoded.startTs, undefined);
  }
});

test("[IN2] an integer histogram's deltas become absolute counts", () => {
  const body = new ProtoWriter()
    .message(1, (series) =>
      series
        .message(1, (label) => label.text(1, "__name__").text(2, "h"))
        .message(4, (histogram) =>
          histogram
            .integer(1, 13)
            .double(3, 18.4)
            .signed(4, 1)
            .double(5, 0.001)
            .integer(6, 2)
            .message(8, (span) => writeSpan(span, { offset: -1, length: 1 }))
            .packedSigned(9, [1])
            .message(11, (span) => writeSpan(span, { offset: 0, length: 2 }))
            .message(11, (span) => writeSpan(span, { offset: 1, length: 2 }))
            .packedSigned(12, [1, 2, -2, 4])
            .integer(14, 3)
            .integer(15, 5_000),
        ),
    )
    .bytes();
  const { batch, problems, histogramCount } = new WriteDecoder().decode(body, "1");
  assert.deepEqual(problems, []);
  assert.equal(histogramCount, 1);
  assert.deepEqual(batch.histograms, [
    {
      counterResetHint: "gauge",
      schema: 1,
      zeroThreshold: 0.001,
      zeroCount: 2,
      count: 13,
      sum: 18.4,
      positiveSpans: [
        { offset: 0, length: 2 },
        { offset: 1, length: 2 },
      ],
      positiveBuckets: [1, 3, 1, 5],
      negativeSpans: [{ offset: -1, length: 1 }],
      negativeBuckets: [1],
      customValues: [],
    },
  ]);
});

test("[IN2] a histogram finer than any that is computed with is made coarser", () => {
  const builder = new BatchBuilder();
  const series = builder.addSeries(Labels.of({ __name__: "h" }));
  builder.addHistogram(series, 1, { ...histogramOf([1, 2, 3, 4], 1), schema: 9 });
  builder.addHistogram(series, 2, { ...histogramOf([1], 1), schema: 53 });
  const { batch, problems } = new WriteDecoder().decode(encodeRequest1(builder.build()), "1");
  assert.match(problems[0] ?? "", /^histogram has an invalid schema, .* got schema 53/);
  const [histogram] = batch.histograms ?? [];
  assert.deepEqual([batch.count, histogram?.schema, histogram?.positiveBuckets], [1, 8, [3, 7]]);
});

test("[IN2] repeated numbers may come one at a time, fields in any order, unknown fields between", () => {
  const body = new ProtoWriter()
    .message(1, (series) =>
      series
        .message(2, (sample) => sample.integer(2, 7).double(1, 1.5).text(9, "unknown"))
        .message(1, (label) => label.text(2, "b").text(1, "a"))
        .integer(77, 3)
        .message(1, (label) => label.text(1, "__name__").text(2, "m")),
    )
    .bytes();
  const { batch, problems } = new WriteDecoder().decode(body, "1");
  assert.deepEqual(problems, []);
  assert.deepEqual(batch.series[0]?.toRecord(), { __name__: "m", a: "b" });
  assert.deepEqual([batch.ts[0], batch.values[0]], [7, 1.5]);
});

test("[IN2] the stale marker is a marker; any other NaN is a value", () => {
  const body = series1([["__name__", "m"]], (inner) =>
    inner
      .message(2, (sample) => sample.tag(1, 1).raw(staleBytes).integer(2, 1))
      .message(2, (sample) => sample.double(1, Number.NaN).integer(2, 2)),
  );
  const { batch } = new WriteDecoder().decode(body, "1");
  assert.deepEqual([...(batch.stale ?? [])], [1, 0]);
  assert.ok(Number.isNaN(batch.values[1]));
});

test("[IN2] a stale histogram ends the series too", () => {
  const body = series1([["__name__", "m"]], (inner) =>
    inner.message(4, (histogram) => histogram.tag(3, 1).raw(staleBytes).integer(15, 9)),
  );
  const { batch, problems } = new WriteDecoder().decode(body, "1");
  assert.deepEqual(problems, []);
  assert.deepEqual([...(batch.stale ?? [])], [1]);
  assert.equal(batch.histograms, undefined);
});

const invalidLabels = [
  {
    name: "without a name",
    pairs: [["a", "b"]],
    want: 'invalid metric name or labels, got {a="b"}',
  },
  {
    name: "with an empty metric name",
    pairs: [
      ["__name__", ""],
      ["a", "b"],
    ],
    want: 'invalid metric name or labels, got {__name__="", a="b"}',
  },
  {
    name: "with an empty label name",
    pairs: [
      ["", "x"],
      ["__name__", "m"],
    ],
    want: 'invalid metric name or labels, got {""="x", __name__="m"}',
  },
  {
    name: "with a name twice",
    pairs: [
      ["__name__", "m"],
      ["a", "1"],
      ["a", "2"],
    ],
    want: 'invalid labels for series, labels {__name__="m", a="1", a="2"}, duplicated label a',
  },
  {
    name: "with a name that needs quotes, twice",
    pairs: [
      ["__name__", "m"],
      ["a.b", "1"],
      ["a.b", "2"],
    ],
    want: 'invalid labels for series, labels {__name__="m", "a.b"="1", "a.b"="2"}, duplicated label a.b',
  },
] as const;
for (const { name, pairs, want } of invalidLabels) {
  test(`[IN4] a series ${name} costs its own samples only`, () => {
    const one = (inner: ProtoWriter): ProtoWriter =>
      inner.message(2, (sample) => sample.double(1, 1).integer(2, 1));
    const body = new ProtoWriter()
      .raw(series1(pairs, one))
      .raw(series1([["__name__", "good"]], one))
      .bytes();
    const { batch, problems } = new WriteDecoder().decode(body, "1");
    assert.deepEqual(problems, [want]);
    assert.deepEqual(
      batch.series.map((labels) => labels.name),
      ["good"],
    );
    assert.equal(batch.count, 1);
  });
}

test("[IN4] labels in another order are put in order, empty values left out", () => {
  const body = series1(
    [
      ["z", "1"],
      ["a", ""],
      ["__name__", "m"],
    ],
    (inner) => inner.message(2, (sample) => sample.double(1, 1).integer(2, 1)),
  );
  const { batch, problems } = new WriteDecoder().decode(body, "1");
  assert.deepEqual(problems, []);
  assert.deepEqual(batch.series[0]?.pairs, ["__name__", "m", "z", "1"]);
});

test("[IN4] labels that are not UTF-8 cost their own samples only", () => {
  const bad = new ProtoWriter().message(1, (series) =>
    series
      .message(1, (label) => label.text(1, "__name__").blob(2, Uint8Array.of(0xff, 0xfe)))
      .message(2, (sample) => sample.double(1, 1)),
  );
  const { batch, problems } = new WriteDecoder().decode(bad.bytes(), "1");
  assert.equal(batch.count, 0);
  assert.match(problems[0] ?? "", /^invalid metric name or labels/);
});

test("[IN4] a histogram that is none costs itself only", () => {
  const wrong = { ...histogramOf([1, 2], 0), positiveSpans: [{ offset: 0, length: 3 }] };
  const builder = new BatchBuilder();
  const series = builder.addSeries(Labels.of({ __name__: "h" }));
  builder.addHistogram(series, 1, wrong);
  builder.addHistogram(series, 2, histogramOf([1], 0));
  const { batch, problems } = new WriteDecoder().decode(encodeRequest2(builder.build()), "2");
  assert.deepEqual(problems, [
    "positive side: spans need 3 buckets, have 2 buckets: histogram spans specify different number of buckets than " +
      'provided for series {__name__="h"}',
  ]);
  assert.deepEqual([...batch.ts], [2]);
});

const lies = [
  {
    name: "an odd number of references",
    refs: [1, 2, 1],
    want: /parsing labels for series \[1 2 1\]: invalid labelRefs length 3/,
  },
  {
    name: "a reference beyond the table",
    refs: [1, 9],
    want: /labelRefs 1 \(name\) = 9 \(value\) outside of symbols table \(size 3\)/,
  },
];
for (const { name, refs, want } of lies) {
  test(`[IN3] protocol 2 refuses ${name} whole`, () => {
    const body = new ProtoWriter()
      .blob(4, new Uint8Array(0))
      .text(4, "__name__")
      .text(4, "m")
      .message(5, (series) =>
        series.packedIntegers(1, [1, 2]).message(2, (sample) => sample.double(1, 1)),
      )
      .message(5, (series) =>
        series.packedIntegers(1, refs).message(2, (sample) => sample.double(1, 1)),
      )
      .bytes();
    assert.throws(() => new WriteDecoder().decode(body, "2"), want);
  });
}

test("[IN4] protocol 2 wants a sample in every series", () => {
  const body = new ProtoWriter()
    .blob(4, new Uint8Array(0))
    .text(4, "__name__")
    .text(4, "m")
    .message(5, (series) => series.packedIntegers(1, [1, 2]))
    .bytes();
  const { problems } = new WriteDecoder().decode(body, "2");
  assert.deepEqual(problems, [
    'TimeSeries must contain at least one sample or histogram for series {__name__="m"}',
  ]);
});

test("[IN2] symbols may come after the series, and in another order the next time", () => {
  const decoder = new WriteDecoder();
  const request = (symbols: readonly string[], refs: readonly number[]): Uint8Array => {
    const writer = new ProtoWriter().message(5, (series) =>
      series.packedIntegers(1, refs).message(2, (sample) => sample.double(1, 1)),
    );
    for (const symbol of symbols) writer.blob(4, new TextEncoder().encode(symbol));
    return writer.bytes();
  };
  const first = decoder.decode(request(["", "__name__", "a"], [1, 2]), "2").batch;
  const second = decoder.decode(request(["", "a", "b", "__name__"], [3, 2]), "2").batch;
  const third = decoder.decode(request(["", "a", "__name__"], [2, 1]), "2").batch;
  assert.deepEqual(
    [first, second, third].map((batch) => batch.series[0]?.name),
    ["a", "b", "a"],
  );
  assert.equal(first.series[0], third.series[0], "the same series is the same object");
});

/** Columns as plain arrays and labels as records, so that views and caches do not matter. */
function plain(batch: SampleBatch): unknown {
  return {
    series: batch.series.map((labels) => labels.pairs),
    seriesIndex: [...batch.seriesIndex],
    ts: [...batch.ts],
    values: [...batch.values].map((value, index) =>
      batch.histograms?.[index] === undefined ? value : 0,
    ),
    stale: batch.stale === undefined ? undefined : [...batch.stale],
    histograms: batch.histograms,
  };
}

function series1(
  pairs: readonly (readonly [string, string])[],
  write: (inner: ProtoWriter) => void,
): Uint8Array {
  return new ProtoWriter()
    .message(1, (inner) => {
      for (const [name, value] of pairs) {
        inner.message(1, (label) => label.text(1, name).text(2, value));
      }
      write(inner);
    })
    .bytes();
}

/** A batch with every kind of content: four samples of two series. */
function fullBatch(): SampleBatch {
  const builder = new BatchBuilder(2);
  const up = Labels.of({ __name__: "up", job: "api" });
  const first = builder.addSeries(up);
  builder.addFloat(first, 1_700_000_000_000, 1);
  builder.setStartTs(1_699_999_000_000);
  builder.addStale(first, 1_700_000_015_000);
  builder.exemplars.push({
    series: up,
    labels: Labels.of({ trace_id: "abc" }),
    value: 0.5,
    ts: 1_700_000_000_001,
  });
  builder.metadata.push({
    metric: "up",
    type: "gauge",
    help: "Whether it is up.",
    unit: "targets",
  });
  const second = builder.addSeries(Labels.of({ __name__: "größe", zone: "ä" }));
  builder.addFloat(second, 1_700_000_000_000, -0.5);
  builder.addHistogram(second, 1_700_000_015_000, histogramOf([1, 2, 3], -4));
  builder.setStartTs(1_699_999_000_001);
  return builder.build();
}
