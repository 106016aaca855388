/** A thread that plans queries, evaluates them, and writes their answers. */
import { readFileSync } from "node:fs";
import { workerData } from "node:worker_threads";
import { assert, unreachable } from "../../kernel/errors.ts";
import { realClock } from "../../kernel/node/real-clock.ts";
import {
  astToJson,
  explainPlan,
  formatExpr,
  parseExpr,
  planQuery,
} from "../../promql/core/index.ts";
import type {
  EvalAnswer,
  EvalNote,
  EvalPost,
  EvalRequest,
  EvalThreadOptions,
  ExplainedQuery,
  RanQuery,
} from "./eval-messages.ts";
import { Evaluation, parseQuery } from "./evaluation.ts";
import { decodeList, mergeLists, mergeSeries, seriesJson } from "./list-artifact.ts";
import { type StopFlag, serveThread } from "./serve-thread.ts";
import { warmUpDelayMs, warmUpEval } from "./warm-up.ts";

const evaluations = new Map<number, Evaluation>();
/** The query that this thread is computing for, where the main thread sees it; 0: none. */
const options = workerData as EvalThreadOptions;
const current = new Int32Array(options.current);
let isIdle: boolean = true;

const side = serveThread<EvalRequest, EvalAnswer, EvalPost, EvalNote>({
  serve,
  post(post) {
    if (post.kind === "forget") forget(post.query);
    else computing(post.query, () => addArtifact(post));
  },
  transferOf: (answer) => ("json" in answer ? [answer.json.buffer] : []),
  close() {
    isIdle = false;
  },
});
if (options.warmUp)
  void warmUpEval({ clock: realClock, isIdle: () => isIdle, delayMs: warmUpDelayMs(0) });

async function serve(request: EvalRequest, stop: StopFlag): Promise<EvalAnswer> {
  isIdle = false;
  switch (request.kind) {
    case "plan":
      return computing(request.query, () => plan(request));
    case "split":
      return { kind: "split", spans: evaluationOf(request.query).split(request.spans) };
    case "run":
      stop.signal.addEventListener("abort", () => forget(request.query), { once: true });
      return await computing(request.query, () => run(request, stop));
    case "labels":
      return computing(request.query, () => mergeLabels(request));
    case "explain":
      return explain(request);
    case "format":
      return { kind: "text", text: formatExpr(parseExpr(request.text)) };
    case "parse":
      return { kind: "tree", tree: astToJson(parseExpr(request.text)) };
    default:
      return unreachable(request);
  }
}

function computing<T>(query: number, act: () => T): T {
  Atomics.store(current, 0, query);
  try {
    return act();
  } finally {
    Atomics.store(current, 0, 0);
  }
}

function run(request: Extract<EvalRequest, { kind: "run" }>, stop: StopFlag): Promise<RanQuery> {
  const { query } = request;
  const note = (json: string): void => side.note({ query, json });
  return evaluationOf(query).run(request, note, () => stop.check());
}

function addArtifact({
  query,
  span,
  leaf,
  index,
  path,
}: Extract<EvalPost, { kind: "artifact" }>): void {
  evaluations.get(query)?.artifact(span, leaf, index, path);
}

function plan({
  query,
  text,
  params,
  options,
}: Extract<EvalRequest, { kind: "plan" }>): EvalAnswer {
  const startMs = realClock.nowMs();
  const evaluation = new Evaluation(text, params, options, realClock);
  evaluations.set(query, evaluation);
  return evaluation.planned(realClock.nowMs() - startMs);
}

function mergeLabels({
  op,
  paths,
  limit,
  bytesMax,
}: Extract<EvalRequest, { kind: "labels" }>): EvalAnswer {
  const lists = paths.map((path) => decodeList(readFileSync(path)));
  if (op !== "series") return { kind: "listed", ...mergeLists(lists, limit) };
  const { items, truncated } = mergeSeries(lists, limit);
  return { kind: "series", json: seriesJson(items, bytesMax), truncated };
}

function explain({
  text,
  params,
  options,
}: Extract<EvalRequest, { kind: "explain" }>): ExplainedQuery {
  const expr = parseQuery(text, params);
  const planned = planQuery(expr, params, options);
  const { leaves, tree } = explainPlan(planned);
  return {
    kind: "explained",
    resultType: planned.resultType,
    formatted: formatExpr(expr),
    leaves: planned.leaves.map((leaf, index) => ({
      leaf,
      text: leaves[index]?.text ?? "",
      why: leaves[index]?.why ?? "",
    })),
    tree,
  };
}

function evaluationOf(query: number): Evaluation {
  const evaluation = evaluations.get(query);
  assert(evaluation !== undefined, "a query is planned before it runs");
  return evaluation;
}

function forget(query: number): void {
  evaluations.get(query)?.forget();
  evaluations.delete(query);
}
