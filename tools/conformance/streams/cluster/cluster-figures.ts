/** What the workers did of the suite's queries, by the lines that they log when fragments end. */

import { workerNames } from "./stream-cluster.ts";
import type { QueryDetail } from "./stream-requests.ts";

type Deployed = QueryDetail["deployed"];

interface EndedFragment {
  readonly query_id: string;
  readonly fragment: string;
  readonly rows_received: number;
  readonly rows_from_other_workers: number;
}

export class ClusterFigures {
  /** Queries that ended by themselves, with the fragments that share keys. */
  readonly #ended = new Map<string, ReadonlySet<string>>();
  #onBoth = 0;

  ended(queryId: string, deployed: Deployed): void {
    this.#ended.set(queryId, keyedOf(deployed));
    if (new Set(deployed.map(({ worker_id }) => worker_id)).size > 1) this.#onBoth += 1;
  }

  /** `logOf` gives what a worker has logged, as JSON lines. */
  line(logOf: (worker: string) => string): string {
    let crossed = 0;
    const keyed = new Set<string>();
    const held = workerNames.map((worker) => {
      const queries = new Set<string>();
      for (const each of endedIn(logOf(worker))) {
        const { query_id, fragment, rows_received } = each;
        const ofKeys = this.#ended.get(query_id);
        if (ofKeys === undefined) continue;
        crossed += each.rows_from_other_workers;
        if (!ofKeys.has(fragment)) continue;
        keyed.add(query_id);
        if (rows_received > 0) queries.add(query_id);
      }
      return queries;
    });
    const both = [...keyed].filter((query) => held.every((queries) => queries.has(query)));
    return (
      `${this.#onBoth} of ${this.#ended.size} queries ran on both workers; ${crossed} rows crossed; ` +
      `of ${keyed.size} plans with keys, both workers held keys in ${both.length}`
    );
  }
}

/** Fragments of one stage share its keys; they are named `stage.number`. */
function keyedOf(deployed: Deployed): ReadonlySet<string> {
  const stages = Map.groupBy(deployed, ({ fragment }) => fragment.split(".", 1)[0]);
  const shared = [...stages.values()].filter((fragments) => fragments.length > 1);
  return new Set(shared.flat().map(({ fragment }) => fragment));
}

function endedIn(log: string): readonly EndedFragment[] {
  return log
    .split("\n")
    .filter((line) => line.includes('"a fragment has ended"'))
    .map((line) => JSON.parse(line) as EndedFragment);
}
