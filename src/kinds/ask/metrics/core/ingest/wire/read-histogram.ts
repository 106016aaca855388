/** Reads a native histogram of either remote write protocol; both number its fields alike. */
import {
  type CounterResetHint,
  type FloatHistogram,
  reduceResolution,
  type Span,
} from "../../../../promql/core/index.ts";
import { histogramProblem } from "../check-histogram.ts";
import { type ProtoReader, wireBytes, wireVarint } from "./proto-reader.ts";

export interface WireHistogram {
  readonly ts: number;
  readonly startTs: number;
  /** Whether this is a stale marker; then the histogram has no meaning. */
  readonly stale: boolean;
  readonly histogram: FloatHistogram;
  readonly problem: string | undefined;
}

const hints: readonly CounterResetHint[] = ["unknown", "reset", "not_reset", "gauge"];

const schemaMax = 8;
const schemaReservedMax = 52;

type Draft = ReturnType<typeof emptyDraft>;

/**
 * `reader` is at the length of the message. A histogram of more than `bucketsMax` buckets is
 * reported as a problem, and no array of that length is allocated.
 */
export function readHistogram(reader: ProtoReader, bucketsMax: number): WireHistogram {
  const outerEnd = reader.enter();
  const draft = emptyDraft(bucketsMax);
  for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
    readField(reader, field, draft);
  }
  reader.leave(outerEnd);
  const { ts, startTs, stale } = draft;
  const sent = finish(draft);
  if (draft.hasTooMany) {
    const problem = `a histogram has too many buckets; the limit buckets_per_histogram is ${bucketsMax}`;
    return { ts, startTs, stale, histogram: sent, problem };
  }
  // Future senders may use finer schemas than we compute with: their layout is checked like the
  // finest.
  const isFiner = sent.schema > schemaMax && sent.schema <= schemaReservedMax;
  const checked = isFiner ? { ...sent, schema: schemaMax } : sent;
  const problem = stale ? undefined : histogramProblem(checked, !draft.isFloat);
  const isReduced = isFiner && !stale && problem === undefined;
  const histogram = isReduced ? reduceResolution(sent, schemaMax) : sent;
  return { ts, startTs, stale, histogram, problem };
}

function emptyDraft(bucketsMax: number) {
  return {
    bucketsMax,
    /** Whether buckets were left out; then the histogram is refused. */
    hasTooMany: false,
    isFloat: false,
    count: 0,
    sum: 0,
    stale: false,
    schema: 0,
    zeroThreshold: 0,
    zeroCount: 0,
    hint: 0,
    ts: 0,
    startTs: 0,
    negativeSpans: [] as Span[],
    positiveSpans: [] as Span[],
    negativeDeltas: [] as number[],
    positiveDeltas: [] as number[],
    negativeCounts: [] as number[],
    positiveCounts: [] as number[],
    customValues: [] as number[],
  };
}

function readField(reader: ProtoReader, field: number, draft: Draft): void {
  switch (field) {
    case 1:
      reader.expect(wireVarint);
      draft.count = reader.uint64();
      draft.isFloat = false;
      return;
    case 2:
      draft.count = reader.doubleField();
      draft.isFloat = true;
      return;
    case 3:
      draft.sum = reader.doubleField();
      draft.stale = reader.wasStaleMarker();
      return;
    case 4:
      reader.expect(wireVarint);
      draft.schema = reader.sint32();
      return;
    case 5:
      draft.zeroThreshold = reader.doubleField();
      return;
    case 6:
      reader.expect(wireVarint);
      draft.zeroCount = reader.uint64();
      return;
    case 7:
      draft.zeroCount = reader.doubleField();
      return;
    case 8:
      add(draft, draft.negativeSpans, readSpan(reader));
      return;
    case 9:
      readDeltas(reader, draft, draft.negativeDeltas);
      return;
    case 10:
      readDoubles(reader, draft, draft.negativeCounts);
      return;
    case 11:
      add(draft, draft.positiveSpans, readSpan(reader));
      return;
    case 12:
      readDeltas(reader, draft, draft.positiveDeltas);
      return;
    case 13:
      readDoubles(reader, draft, draft.positiveCounts);
      return;
    case 14:
      draft.hint = reader.uint32Field();
      return;
    case 15:
      draft.ts = reader.int64Field();
      return;
    case 16:
      readDoubles(reader, draft, draft.customValues);
      return;
    case 17:
      draft.startTs = reader.int64Field();
      return;
    default:
      reader.skip();
  }
}

function finish(draft: Draft): FloatHistogram {
  const { isFloat } = draft;
  return {
    counterResetHint: hints[draft.hint] ?? "unknown",
    schema: draft.schema,
    zeroThreshold: draft.zeroThreshold,
    zeroCount: draft.zeroCount,
    count: draft.count,
    sum: draft.sum,
    positiveSpans: draft.positiveSpans,
    positiveBuckets: isFloat ? draft.positiveCounts : absolute(draft.positiveDeltas),
    negativeSpans: draft.negativeSpans,
    negativeBuckets: isFloat ? draft.negativeCounts : absolute(draft.negativeDeltas),
    customValues: draft.customValues,
  };
}

function absolute(deltas: readonly number[]): number[] {
  let count = 0;
  return deltas.map((delta) => (count += delta));
}

function readSpan(reader: ProtoReader): Span {
  reader.expect(wireBytes);
  const outerEnd = reader.enter();
  let offset = 0;
  let length = 0;
  for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
    if (field === 1) {
      reader.expect(wireVarint);
      offset = reader.sint32();
    } else if (field === 2) length = reader.uint32Field();
    else reader.skip();
  }
  reader.leave(outerEnd);
  return { offset, length };
}

/** Reads a single value or a packed field. */
function readDoubles(reader: ProtoReader, draft: Draft, into: number[]): void {
  if (reader.wireType !== wireBytes) {
    add(draft, into, reader.doubleField());
    return;
  }
  const outerEnd = reader.enter();
  while (reader.at < reader.end) add(draft, into, reader.double());
  reader.leave(outerEnd);
}

function readDeltas(reader: ProtoReader, draft: Draft, into: number[]): void {
  if (reader.wireType !== wireBytes) {
    reader.expect(wireVarint);
    add(draft, into, reader.sint64());
    return;
  }
  const outerEnd = reader.enter();
  while (reader.at < reader.end) add(draft, into, reader.sint64());
  reader.leave(outerEnd);
}

function add<T>(draft: Draft, into: T[], value: T): void {
  if (into.length < draft.bucketsMax) into.push(value);
  else draft.hasTooMany = true;
}
