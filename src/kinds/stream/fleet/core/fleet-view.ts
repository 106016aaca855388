/**
 * What the workers say about their fragments, as this coordinator has heard it. Facts hold the
 * whole inventory and come with heartbeats; answers come at once. Each report is as new as the
 * version of the facts that has it, so an answer counts until the facts have caught up (SD4).
 * Nothing is known of a worker without a session.
 */
import { type FragmentReport, parseFactKey, type StreamReport } from "./commands.ts";
import type { Facts } from "./fleet-port.ts";

interface Known {
  /** By fragment. */
  readonly reports: Map<string, { readonly text: string; readonly report: FragmentReport }>;
  /** The facts that are at least as new as the last answer about the query. */
  answerVersion: number;
}

interface Worker {
  isUp: boolean;
  /** When the session began or ended, by the monotonic clock. */
  sinceMs: number;
  readonly queries: Map<string, Known>;
}

type Answer = Extract<StreamReport, { readonly kind: "answer" | "states" }>;

export class FleetView {
  readonly #workers = new Map<string, Worker>();

  workerUp(workerId: string, nowMs: number): void {
    this.#workers.set(workerId, { isUp: true, sinceMs: nowMs, queries: new Map() });
  }

  /** The queries that it reported fragments of. */
  workerDown(workerId: string, nowMs: number): readonly string[] {
    const queries = this.queriesOn(workerId);
    this.#workers.set(workerId, { isUp: false, sinceMs: nowMs, queries: new Map() });
    return queries;
  }

  /** The queries about which the facts say something new. */
  facts(workerId: string, facts: Facts, version: number): readonly string[] {
    const worker = this.#workers.get(workerId);
    if (worker?.isUp !== true) return [];
    const touched = new Set<string>();
    const there = new Set<string>();
    for (const [key, text] of Object.entries(facts)) {
      const named = parseFactKey(key);
      if (named === undefined) continue;
      there.add(key);
      const known = knownOf(worker, named.query);
      if (version < known.answerVersion) continue;
      if (known.reports.get(named.fragment)?.text === text) continue;
      const report = parseReport(text);
      if (report === undefined) continue;
      known.reports.set(named.fragment, { text, report });
      touched.add(named.query);
    }
    for (const [query, known] of worker.queries) {
      if (version < known.answerVersion) continue;
      for (const fragment of known.reports.keys()) {
        if (there.has(`fragment/${query}/${fragment}`)) continue;
        known.reports.delete(fragment);
        touched.add(query);
      }
      if (known.reports.size === 0 && !touched.has(query)) worker.queries.delete(query);
    }
    return [...touched];
  }

  /** Takes an answer, which lists every fragment of the query that the worker has. */
  answer(workerId: string, { query, fragments, factsVersion }: Answer): void {
    const worker = this.#workers.get(workerId);
    if (worker?.isUp !== true) return;
    const known = knownOf(worker, query);
    known.answerVersion = factsVersion;
    known.reports.clear();
    for (const report of fragments) {
      known.reports.set(report.fragment, { text: JSON.stringify(report), report });
    }
  }

  isUp(workerId: string): boolean {
    return this.#workers.get(workerId)?.isUp === true;
  }

  /** Since when the worker has been up, or away; `undefined` for one that was never heard. */
  sinceMs(workerId: string): number | undefined {
    return this.#workers.get(workerId)?.sinceMs;
  }

  reports(workerId: string, query: string): readonly FragmentReport[] {
    const known = this.#workers.get(workerId)?.queries.get(query);
    return known === undefined ? [] : Array.from(known.reports.values(), ({ report }) => report);
  }

  /** Workers that report something of the query. */
  workersWith(query: string): readonly string[] {
    return Array.from(this.#workers).flatMap(([workerId, { queries }]) =>
      (queries.get(query)?.reports.size ?? 0) > 0 ? workerId : [],
    );
  }

  queriesOn(workerId: string): readonly string[] {
    return [...(this.#workers.get(workerId)?.queries.keys() ?? [])];
  }

  /** Every query that some worker reports. */
  queries(): ReadonlySet<string> {
    return new Set([...this.#workers.values()].flatMap(({ queries }) => [...queries.keys()]));
  }
}

function knownOf(worker: Worker, query: string): Known {
  const found = worker.queries.get(query);
  if (found !== undefined) return found;
  const known: Known = { reports: new Map(), answerVersion: 0 };
  worker.queries.set(query, known);
  return known;
}

/** `undefined` for a text that a newer worker may have written. */
function parseReport(text: string): FragmentReport | undefined {
  try {
    const { fragment, epoch, state, error } = JSON.parse(text) as Partial<FragmentReport>;
    if (fragment === undefined || epoch === undefined || state === undefined) return undefined;
    return { fragment, epoch, state, error };
  } catch {
    return undefined;
  }
}
