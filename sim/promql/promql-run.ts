/**
 * One PromQL query on its controller, as `QueryRun` does it in production: planned, cut into spans
 * and shards, executed by workers, merged and evaluated as artifacts come. Everything that decides
 * is production's; what is simulated is that artifacts are read a moment later, as another thread
 * would.
 */
import { assert, messageOf, type OperatingError } from "../../src/ground/kernel/errors.ts";
import type { QueryId } from "../../src/ground/kernel/ids.ts";
import type { Prng } from "../../src/ground/kernel/prng.ts";
import type {
  ApiWorkManager,
  LocalArtifact,
  QueryHandle,
} from "../../src/ground/work/core/index.ts";
import { type WorkSpec, workKeyText } from "../../src/ground/work/core/index.ts";
import {
  defaultEngineOptions,
  evaluatePlan,
  type Grid,
  instantGrid,
  type LeafResult,
  PromqlError,
  parseExpr,
  planQuery,
  type QueryParams,
  type QueryPlan,
  type QueryResult,
} from "../../src/kinds/ask/promql/core/index.ts";
import { cutGrid } from "../../src/kinds/ask/run/core/decide-cut.ts";
import type { EvalFlow } from "../../src/kinds/ask/run/core/eval-flow.ts";
import { placeShards } from "../../src/kinds/ask/run/core/place-shards.ts";
import { type PlannedWork, planWorks } from "../../src/kinds/ask/run/core/plan-works.ts";
import { SampleDensities, scopeLeaf } from "../../src/kinds/ask/run/core/scope-leaf.ts";
import { decodeLeafResult } from "../../src/kinds/ask/run/leaf-artifact.ts";
import type { Counters } from "../checks/counters.ts";
import { PromqlCheck } from "../checks/promql-check.ts";
import type { Verdict } from "../checks/verdict.ts";
import type { Life } from "../engine/life.ts";
import type { PlannedPromql } from "../plan.ts";
import type { Seams } from "../seams.ts";
import type { SimDisk } from "../world/disk.ts";
import type { SimLake } from "./sim-lake.ts";

export interface PromqlRunParts {
  readonly queryId: QueryId;
  readonly asked: PlannedPromql;
  readonly lake: SimLake;
  readonly manager: ApiWorkManager;
  readonly life: Life;
  readonly disk: SimDisk;
  readonly prng: Prng;
  readonly seams: Seams;
  readonly verdict: Verdict;
  readonly counters: Counters;
  readonly spanTold: (isLast: boolean) => void;
}

/** Until a thread has read an artifact and evaluated what it made whole. */
const readMsMax = 30;

export class PromqlRun {
  readonly works: readonly WorkSpec[];
  readonly #parts: PromqlRunParts;
  readonly #check: PromqlCheck;
  readonly #planned: ReadonlyMap<string, PlannedWork>;
  readonly #flow: EvalFlow<QueryResult>;
  readonly #ended = Promise.withResolvers<void>();
  #isOver = false;
  #attemptsMax = 0;

  constructor(parts: PromqlRunParts) {
    this.#parts = parts;
    const { asked, lake, queryId, manager, seams, verdict, counters } = parts;
    const { head, segments, everything } = lake.moment();
    const params = paramsOf(asked, head.maxTs);
    const spans = cutGrid(params.grid, asked.spanCount);
    const plans = plansOf(asked.text, params, spans);
    const densities = new SampleDensities();
    const { works, resultCounts } = planWorks({
      queryId,
      spans: plans.map(({ leaves }) =>
        leaves.map((leaf) => scopeLeaf(leaf, segments, head, densities)),
      ),
      head,
      shardCount: asked.shardCount,
      samplesMax: defaultEngineOptions.samplesMax,
      labelBytesMax: defaultEngineOptions.labelBytesMax,
      place: (base, shardCount) => placeShards(base, shardCount, manager.workers()),
    });
    this.works = works.map(({ spec }) => spec);
    this.#planned = new Map(works.map((work) => [workKeyText(work.spec), work]));
    const { text, shardCount } = asked;
    this.#check = new PromqlCheck(
      { name: queryId, text, params, spans, shardCount, everything },
      verdict,
      counters,
    );
    this.#flow = new seams.EvalFlow<QueryResult>({
      spans: plans.map(({ leaves }, span) =>
        leaves.map((leaf, index) => ({ leaf, resultCount: resultCounts[span]?.[index] ?? 0 })),
      ),
      evaluate: (span, leaves) => evaluatePlan(plans[span] as QueryPlan, leaves),
      onResult: (span, result) => this.#told(span, result, spans.length),
    });
  }

  /** Resolves when it is answered. Throws what ended it. */
  async run(
    deadlineMs: number,
    onCommitted: (work: WorkSpec) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { manager, queryId, asked } = this.#parts;
    this.#guarded(() => this.#flow.start());
    if (this.works.length === 0) return this.#ended.promise;
    const handle = manager.open(
      {
        queryId,
        works: this.works,
        deadlineMs,
        text: asked.text,
        onCommitted: (work, local, { attempt }) => {
          onCommitted(work);
          this.#attemptsMax = Math.max(this.#attemptsMax, attempt);
          this.#arrived(work, local);
        },
      },
      signal,
    );
    let artifacts: readonly LocalArtifact[] = [];
    try {
      await Promise.all([
        handle.artifacts.then((all) => {
          artifacts = all;
        }),
        Promise.race([this.#ended.promise, failureOf(handle)]),
      ]);
      handle.finish();
    } catch (thrown) {
      handle.finish(thrown as OperatingError);
      throw thrown;
    } finally {
      this.#isOver = true;
      for (const artifact of artifacts) await artifact.dispose();
    }
  }

  #arrived(work: WorkSpec, { content }: LocalArtifact): void {
    const { life, prng } = this.#parts;
    life.after(1 + prng.below(readMsMax), () => this.#guarded(() => this.#read(work, content)));
  }

  #read(work: WorkSpec, content: LocalArtifact["content"]): void {
    const keyText = workKeyText(work);
    const planned = this.#planned.get(keyText);
    assert(planned !== undefined, "only what was asked for is committed");
    const bytes = this.#parts.disk.read(String(content));
    let result: LeafResult;
    try {
      assert(bytes !== undefined, "an artifact is there until its query is over");
      result = decodeLeafResult(bytes);
    } catch (thrown) {
      this.#isOver = true;
      this.#check.unreadable(keyText, messageOf(thrown));
      return;
    }
    this.#flow.add(planned.span, planned.leaf, planned.index, result);
  }

  #told(span: number, result: QueryResult, spanCount: number): void {
    this.#check.spanTold(span, result);
    this.#parts.spanTold(span + 1 === spanCount);
  }

  /** A query that cannot be evaluated has ended, and so has one whose last span was told. */
  #guarded(act: () => void): void {
    if (this.#isOver) return;
    try {
      act();
    } catch (thrown) {
      if (!(thrown instanceof PromqlError)) throw thrown;
      this.#isOver = true;
      this.#check.refused(thrown);
      this.#ended.resolve();
      return;
    }
    if (this.#isOver || !this.#flow.isDone) return;
    this.#isOver = true;
    this.#check.done(this.#attemptsMax);
    this.#ended.resolve();
  }
}

/** Rejects when the query is cancelled, fails, or passes its deadline. */
function failureOf({ signal }: QueryHandle): Promise<never> {
  return new Promise((_resolve, reject) => {
    const fail = (): void => reject(signal.reason);
    if (signal.aborted) fail();
    else signal.addEventListener("abort", fail, { once: true });
  });
}

function paramsOf(asked: PlannedPromql, newestMs: number): QueryParams {
  const { instant, stepMs, stepCount, endMs } = asked;
  const lastMs = newestMs + endMs;
  if (instant) return { instant, grid: instantGrid(lastMs) };
  return { instant, grid: { startMs: lastMs - (stepCount - 1) * stepMs, endMs: lastMs, stepMs } };
}

/** A query of one span has no span of its own. */
function plansOf(text: string, params: QueryParams, spans: readonly Grid[]): readonly QueryPlan[] {
  const expr = parseExpr(text);
  if (spans.length === 1) return [planQuery(expr, params, defaultEngineOptions)];
  return spans.map((span) => planQuery(expr, { ...params, span }, defaultEngineOptions));
}
