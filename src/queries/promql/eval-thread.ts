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
import { Computing } from "./computing.ts";
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
import { MemoryAccount } from "./memory-budget.ts";
import { paceOf, type Rest } from "./pace.ts";
import { type StopFlag, serveThread } from "./serve-thread.ts";
import { warmUpDelayMs, warmUpEval } from "./warm-up.ts";

const evaluations = new Map<number, Evaluation>();
const options = workerData as EvalThreadOptions;
const computing = new Computing(options.current);
let isIdle: boolean = true;

const side = serveThread<EvalRequest, EvalAnswer, EvalPost, EvalNote>({
  serve,
  post(post) {
    if (post.kind === "forget") forget(post.query);
    else computing.run(post.query, () => addArtifact(post));
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
      return computing.run(request.query, () => plan(request));
    case "split":
      return computing.run(request.query, () => ({
        kind: "split",
        spans: evaluationOf(request.query).split(request.spans),
      }));
    case "run":
      stop.signal.addEventListener("abort", () => forget(request.query), { once: true });
      return await computing.run(request.query, () => run(request, stop));
    case "labels":
      return await computing.paced(request.query, paceOf(realClock, stop), (rest) =>
        mergeLabels(request, rest),
      );
    case "explain":
      return computing.run(request.query, () => explain(request));
    case "format":
      return computing.run(request.query, () => ({
        kind: "text",
        text: formatExpr(parseExpr(request.text)),
      }));
    case "parse":
      return computing.run(request.query, () => ({
        kind: "tree",
        tree: astToJson(parseExpr(request.text)),
      }));
    default:
      return unreachable(request);
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
  options: engine,
}: Extract<EvalRequest, { kind: "plan" }>): EvalAnswer {
  const startMs = realClock.nowMs();
  const evaluation = new Evaluation(
    text,
    params,
    engine,
    realClock,
    new MemoryAccount(options.memory),
  );
  evaluations.set(query, evaluation);
  return evaluation.planned(realClock.nowMs() - startMs);
}

/** Other queries of the thread go on meanwhile; it stops by itself. */
async function mergeLabels(
  { op, paths, limit, bytesMax }: Extract<EvalRequest, { kind: "labels" }>,
  rest: Rest,
): Promise<EvalAnswer> {
  const lists: (readonly string[])[] = [];
  for (const path of paths) {
    await rest();
    lists.push(decodeList(readFileSync(path)));
  }
  if (op !== "series") return { kind: "listed", ...(await mergeLists(lists, limit, rest)) };
  const { items, truncated } = await mergeSeries(lists, limit, rest);
  return { kind: "series", json: await seriesJson(items, bytesMax, rest), truncated };
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
