/**
 * One query in its evaluation thread. The thread parses and plans the text, reads artifacts as they
 * arrive and writes the answer, so that the main thread passes on only bytes and paths.
 */
import { readFileSync } from "node:fs";
import type { Clock } from "../../../ground/kernel/clock.ts";
import { assert, OperatingError } from "../../../ground/kernel/errors.ts";
import type { Call } from "../../../ground/threads/index.ts";
import {
  AnnotationSet,
  type BaseExpr,
  type Expr,
  evaluatePlan,
  explainPlan,
  formatAnnotation,
  type Grid,
  type LeafResult,
  type LeafStats,
  type Position,
  PromqlError,
  parseExpr,
  planQuery,
  type QueryParams,
  type QueryPlan,
  type QueryResult,
  typeOf,
} from "../promql/core/index.ts";
import { EvalFlow } from "./core/eval-flow.ts";
import type {
  ArtifactNote,
  PlannedQuery,
  PlanRequest,
  RanQuery,
  RunRequest,
} from "./eval-messages.ts";
import { JsonSink } from "./json-sink.ts";
import { decodeLeafResult } from "./leaf-artifact.ts";
import type { MemoryAccount } from "./memory-account.ts";
import { answerTooLarge } from "./query-errors.ts";
import { type WrittenResult, writeData } from "./result-json.ts";

/** As in Prometheus's API: the number of annotations shown of each kind; the rest is counted. */
const annotationsMax = 10;
/** The approximate size of one streamed result. */
const noteBytes = 1024 * 1024;

export class Evaluation {
  readonly planned: PlannedQuery;
  readonly #asked: PlanRequest;
  readonly #clock: Clock;
  readonly #memory: MemoryAccount;
  readonly #expr: Expr;
  #plans: readonly QueryPlan[];
  #run: Run | undefined;

  /** Throws `PromqlError`. */
  constructor(asked: PlanRequest, clock: Clock, memory: MemoryAccount) {
    const { text, params, options } = asked;
    const startMs = clock.nowMs();
    this.#asked = asked;
    this.#clock = clock;
    this.#memory = memory;
    this.#expr = parseQuery(text, params);
    const plan = planQuery(this.#expr, params, options);
    this.#plans = [plan];
    const { resultType, leaves, divisible } = plan;
    this.planned = { resultType, leaves, divisible, planMs: clock.nowMs() - startMs };
  }

  split(spans: readonly Grid[]): readonly (readonly BaseExpr[])[] {
    const { params, options } = this.#asked;
    this.#plans = spans.map((span) => planQuery(this.#expr, { ...params, span }, options));
    return this.#plans.map(({ leaves }) => leaves);
  }

  /** Resolves when the last artifact has arrived and was evaluated. */
  run(request: RunRequest, call: Pick<Call<string>, "check" | "progress">): Promise<RanQuery> {
    assert(this.#run === undefined, "a query runs once");
    const { text } = this.#asked;
    const [plans, clock, memory] = [this.#plans, this.#clock, this.#memory];
    this.#run = new Run({ text, plans, request, call, clock, memory });
    return this.#run.done;
  }

  artifact(note: ArtifactNote): void {
    this.#run?.artifact(note);
  }

  /** Call it when nobody waits for the answer any more. */
  forget(): void {
    this.#run?.forget();
    this.#memory.close();
  }
}

export function readContent(content: ArtifactNote["content"]): Uint8Array {
  return typeof content === "string" ? readFileSync(content) : content;
}

/** Also rejects what only an instant query may ask for. */
export function parseQuery(text: string, params: QueryParams): Expr {
  const expr = parseExpr(text);
  const type = typeOf(expr);
  if (params.instant || type === "vector" || type === "scalar") return expr;
  const documented = type === "matrix" ? "range vector" : type;
  const message = `invalid expression type "${documented}" for range query, must be Scalar or instant Vector`;
  throw new PromqlError("parse", message);
}

interface RunParts {
  readonly text: string;
  readonly plans: readonly QueryPlan[];
  readonly request: RunRequest;
  readonly call: Pick<Call<string>, "check" | "progress">;
  readonly clock: Clock;
  /** The memory account of the query in this thread. */
  readonly memory: MemoryAccount;
}

class Run {
  readonly done: Promise<RanQuery>;
  readonly #parts: RunParts;
  readonly #flow: EvalFlow<QueryResult>;
  readonly #results: QueryResult[] = [];
  readonly #stats: LeafStats[][][];
  /** The size of each span's decoded artifacts. */
  readonly #spanBytes: number[];
  /** Annotations repeat in every span; the counts of one annotation add up over the spans. */
  readonly #annotations = new AnnotationSet<Position>();
  /** What a streamed query has sent so far. */
  readonly #told: {
    resultType: WrittenResult["resultType"];
    readonly series: Set<string>;
    pointCount: number;
    byteCount: number;
    truncated: boolean;
  } = { resultType: "matrix", series: new Set(), pointCount: 0, byteCount: 0, truncated: false };
  #settle: { resolve(ran: RanQuery): void; reject(thrown: unknown): void };
  #isOver: boolean = false;
  #decodeMs = 0;
  #evalMs = 0;

  constructor(parts: RunParts) {
    this.#parts = parts;
    const { promise, resolve, reject } = Promise.withResolvers<RanQuery>();
    this.done = promise;
    this.#settle = { resolve, reject };
    const { plans, request } = parts;
    this.#stats = plans.map(({ leaves }) => leaves.map(() => []));
    this.#spanBytes = plans.map(() => 0);
    this.#flow = new EvalFlow({
      spans: plans.map(({ leaves }, span) =>
        leaves.map((leaf, index) => ({
          leaf,
          resultCount: request.resultCounts[span]?.[index] ?? 0,
        })),
      ),
      evaluate: (span, leaves) => {
        const plan = plans[span];
        assert(plan !== undefined, "a span has its plan");
        parts.call.check();
        return this.#timed("eval", () => this.#evaluate(span, plan, leaves));
      },
      onResult: (_span, result) => this.#evaluated(result),
    });
    this.#guarded(() => {
      this.#flow.start();
    });
    if (request.first !== undefined) this.artifact(request.first);
  }

  artifact(note: ArtifactNote): void {
    const { span, leaf, index } = note;
    this.#guarded(() => {
      const result = this.#timed("decode", () => this.#decode(note));
      const stats = this.#stats[span]?.[leaf];
      if (stats !== undefined) stats[index] = result.stats;
      this.#flow.add(span, leaf, index, result);
    });
  }

  /** Groups of several shards are copied when they are merged. */
  #decode({ span, leaf, content, sizeBytes }: ArtifactNote): LeafResult {
    const { memory, request, plans } = this.#parts;
    const shards = request.resultCounts[span]?.[leaf] ?? 1;
    const isPartial = plans[span]?.leaves[leaf]?.output.kind === "partials";
    const copies = isPartial && shards > 1 ? 2 : 1;
    memory.take(sizeBytes);
    const result = decodeLeafResult(readContent(content), {
      take: (bytes) => {
        memory.take(bytes * copies);
        this.#spanBytes[span] = (this.#spanBytes[span] ?? 0) + bytes * copies;
      },
    });
    memory.give(sizeBytes);
    return result;
  }

  /** Afterwards only the result is held; a streamed query holds nothing. */
  #evaluate(span: number, plan: QueryPlan, leaves: readonly LeafResult[]): QueryResult {
    const { memory, request } = this.#parts;
    const beforeBytes = memory.bytes;
    const result = evaluatePlan(plan, leaves, memory);
    if (request.streamed) memory.give(memory.bytes - beforeBytes);
    memory.give(this.#spanBytes[span] ?? 0);
    return result;
  }

  forget(): void {
    if (this.#isOver) return; // Most queries are over by then, and an error costs a stack trace.
    this.#end(new OperatingError("cancelled", "never", "the query was cancelled"));
  }

  /** An error here ends the query, not the thread. */
  #guarded(act: () => void): void {
    if (this.#isOver) return;
    try {
      this.#parts.call.check();
      act();
      if (this.#flow.isDone) {
        this.#isOver = true;
        this.#settle.resolve(this.#answer());
      }
    } catch (thrown) {
      this.#end(thrown);
    }
  }

  #end(thrown: unknown): void {
    this.#isOver = true;
    this.#results.length = 0;
    this.#settle.reject(thrown); // Means nothing where it is resolved.
  }

  #evaluated(result: QueryResult): void {
    for (const { level, message, position } of result.annotations) {
      this.#annotations.add(level, message, position);
    }
    if (this.#parts.request.streamed) this.#tell(result);
    else this.#results.push(result);
  }

  /** Sends pieces of about 1 MiB, so that the reader can start early. */
  #tell(whole: QueryResult): void {
    const { shape } = this.#parts.request;
    const result = this.#cutToLimit(whole);
    const sink = new JsonSink();
    for (const piece of piecesOf(result)) {
      const written = writeData(sink, [piece], { ...shape, limit: 0 });
      sink.ascii("}");
      this.#told.resultType = written.resultType;
      this.#told.pointCount += written.pointCount;
      this.#told.byteCount += sink.length;
      if (this.#told.byteCount > shape.bytesMax) throw answerTooLarge(shape.bytesMax);
      this.#parts.call.progress(sink.takeText());
    }
    if (result.type === "string" || result.type === "scalar") return;
    for (const { labels } of result.series) this.#told.series.add(labels.key);
  }

  /** Cuts a span to its first series, in label order. */
  #cutToLimit(result: QueryResult): QueryResult {
    const { limit } = this.#parts.request.shape;
    if (limit === 0 || result.type === "string" || result.type === "scalar") return result;
    if (result.series.length <= limit) return result;
    this.#told.truncated = true;
    return result.type === "vector"
      ? { ...result, series: result.series.slice(0, limit) }
      : { ...result, series: result.series.slice(0, limit) };
  }

  #answer(): RanQuery {
    const { text, request, plans } = this.#parts;
    const [plan] = plans;
    assert(plan !== undefined, "a query has a plan");
    const sink = new JsonSink(bytesExpected(this.#results), this.#parts.memory);
    const { warnings, infos } = showAnnotations(text, this.#annotations);
    let written: WrittenResult;
    let statsAt = 0;
    if (request.streamed) {
      const { resultType, series, pointCount, truncated } = this.#told;
      written = { resultType, seriesCount: series.size, pointCount, truncated };
    } else {
      sink.ascii('{"status":"success","data":');
      written = this.#timed("eval", () => writeData(sink, this.#results, request.shape));
      statsAt = sink.length;
    }
    if (written.truncated) warnings.push("results truncated due to limit");
    warnings.push(...(request.warnings ?? []));
    if (!request.streamed) writeEnd(sink, warnings, infos);
    return {
      json: sink.take(),
      statsAt,
      resultType: written.resultType,
      seriesCount: written.seriesCount,
      pointCount: written.pointCount,
      warnings,
      infos,
      stats: this.#stats,
      decodeMs: this.#decodeMs,
      evalMs: this.#evalMs,
      leafTexts: explainPlan(plan).leaves.map((leaf) => leaf.text),
      results: request.keepResults ? [...this.#results] : undefined, // `#end` empties the list.
    };
  }

  #timed<T>(stage: "decode" | "eval", act: () => T): T {
    const { clock } = this.#parts;
    const startMs = clock.nowMs();
    try {
      return act();
    } finally {
      const tookMs = clock.nowMs() - startMs;
      if (stage === "decode") this.#decodeMs += tookMs;
      else this.#evalMs += tookMs;
    }
  }
}

/** The approximate size of the answer's JSON. */
function bytesExpected(results: readonly QueryResult[]): number {
  let bytes = 1_000;
  for (const result of results) {
    if (result.type !== "vector") continue;
    const [first] = result.series;
    bytes += result.series.length * ((first?.kinds.length ?? 0) * 28 + 150);
  }
  return bytes;
}

function* piecesOf(result: QueryResult): Generator<QueryResult> {
  if (result.type !== "vector" || result.series.length === 0) {
    yield result;
    return;
  }
  const steps = result.series[0]?.kinds.length ?? 1;
  const perPiece = Math.max(1, Math.floor(noteBytes / (steps * 32 + 200)));
  for (let start = 0; start < result.series.length; start += perPiece) {
    yield { ...result, series: result.series.slice(start, start + perPiece) };
  }
}

function writeEnd(sink: JsonSink, warnings: readonly string[], infos: readonly string[]): void {
  sink.ascii("}");
  if (warnings.length > 0) sink.json(`,"warnings":${JSON.stringify(warnings)}`);
  if (infos.length > 0) sink.json(`,"infos":${JSON.stringify(infos)}`);
  sink.ascii("}");
}

/** Removes duplicate texts. */
function showAnnotations(
  text: string,
  annotations: AnnotationSet<Position>,
): { readonly warnings: string[]; readonly infos: string[] } {
  const shown = { warning: new Set<string>(), info: new Set<string>() };
  for (const { level, message, place } of annotations.entries()) {
    shown[level].add(formatAnnotation(text, { level, message, position: place }));
  }
  return {
    warnings: firstOf(shown.warning, "warning"),
    infos: firstOf(shown.info, "info"),
  };
}

function firstOf(texts: ReadonlySet<string>, level: string): string[] {
  const all = [...texts];
  const omitted = all.length - annotationsMax;
  if (omitted <= 0) return all;
  return [...all.slice(0, annotationsMax), `${omitted} more ${level} annotations omitted`];
}
