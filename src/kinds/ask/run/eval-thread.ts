/** A thread that plans queries, evaluates them, and writes their answers. */
import "./core/error-codes.ts";
import { assert } from "../../../ground/kernel/errors.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { trimWhenIdle } from "../../../ground/kernel/node/trim-when-idle.ts";
import { servePeer, WithTransfer } from "../../../ground/threads/index.ts";
import { astToJson, explainPlan, formatExpr, parseExpr, planQuery } from "../promql/core/index.ts";
import { Computing } from "./computing.ts";
import type {
  EvalThread,
  EvalThreadOptions,
  ExplainedQuery,
  LabelsRequest,
  MergedLabels,
  PlanRequest,
} from "./eval-messages.ts";
import { Evaluation, parseQuery, readContent } from "./evaluation.ts";
import { decodeList, mergeLists, mergeSeries, seriesJson } from "./list-artifact.ts";
import { MemoryAccount } from "./memory-account.ts";
import { paceOf, type Rest } from "./pace.ts";
import { queryThreadErrors } from "./query-threads.ts";
import { warmUpDelayMs, warmUpEval } from "./warm-up.ts";

servePeer<EvalThread, EvalThreadOptions>(({ current, memory, warmUp }) => {
  const computing = new Computing(current);
  /** The queries that are planned and not forgotten. */
  const evaluations = new Map<number, Evaluation>();
  const evaluationOf = (query: number): Evaluation => {
    const evaluation = evaluations.get(query);
    assert(evaluation !== undefined, "a query is planned before it runs");
    return evaluation;
  };
  const forget = (query: number): void => {
    evaluations.get(query)?.forget();
    evaluations.delete(query);
  };
  let isIdle: boolean = true;
  const compute = <T>(query: number, act: () => T, isRehearsal = false): T => {
    if (!isRehearsal) isIdle = false;
    return computing.run(query, act);
  };
  trimWhenIdle();
  if (warmUp) {
    void warmUpEval({ clock: realClock, isIdle: () => isIdle, delayMs: warmUpDelayMs(0) });
  }
  return {
    requests: {
      plan: (request) => {
        const plan = () => {
          const evaluation = new Evaluation(request, realClock, new MemoryAccount(memory));
          evaluations.set(request.query, evaluation);
          return evaluation.planned;
        };
        return compute(request.query, plan, request.isRehearsal);
      },
      split: ({ query, spans }) => compute(query, () => evaluationOf(query).split(spans)),
      run: async (request, call) => {
        const { query, isRehearsal } = request;
        call.signal.addEventListener("abort", () => forget(query), { once: true });
        try {
          const run = () => evaluationOf(query).run(request, call);
          const ran = await compute(query, run, isRehearsal);
          return new WithTransfer(ran, [ran.json.buffer]);
        } finally {
          forget(query);
        }
      },
      labels: async (request, call) => {
        isIdle = false;
        const pace = paceOf(realClock, call);
        const merged = await computing.paced(request.query, pace, (rest) =>
          mergeLabels(request, rest),
        );
        return new WithTransfer(merged, merged.kind === "series" ? [merged.json.buffer] : []);
      },
      explain: (request) => compute(request.query, () => explain(request)),
      format: ({ query, text }) => compute(query, () => formatExpr(parseExpr(text))),
      parse: ({ query, text }) => compute(query, () => astToJson(parseExpr(text))),
    },
    notes: {
      artifact: (note) => {
        const { query } = note;
        computing.run(query, () => evaluations.get(query)?.artifact(note));
      },
      forget,
    },
    close: () => {
      isIdle = false;
    },
  };
}, queryThreadErrors);

/** Pauses, so that other queries of the thread go on. */
async function mergeLabels(
  { op, contents, limit, bytesMax }: LabelsRequest,
  rest: Rest,
): Promise<MergedLabels> {
  const lists: (readonly string[])[] = [];
  for (const content of contents) {
    await rest();
    lists.push(decodeList(readContent(content)));
  }
  if (op !== "series") return { kind: "listed", ...(await mergeLists(lists, limit, rest)) };
  const { items, truncated } = await mergeSeries(lists, limit, rest);
  return { kind: "series", json: await seriesJson(items, bytesMax, rest), truncated };
}

function explain({ text, params, options }: PlanRequest): ExplainedQuery {
  const expr = parseQuery(text, params);
  const planned = planQuery(expr, params, options);
  const { leaves, tree } = explainPlan(planned);
  return {
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
