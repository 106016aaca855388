/**
 * Everything that needs attention and that this process can see: its parts, workers, dynamic
 * tables, load tests of the last day, and scrape targets. Rules: AP45, AP46.
 */
import type { AttentionItem, ReadAttention } from "../../ground/http/index.ts";
import { type Clock, waitAtMost } from "../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../ground/kernel/errors.ts";
import { parsePartFact } from "../../ground/kernel/health.ts";
import type { Logger } from "../../ground/kernel/logger.ts";
import type { ApiPorts } from "./ports.ts";
import type { AttentionBody } from "./schemas.ts";

type Sources = Pick<ApiPorts, "ready" | "workers" | "attention" | "clock" | "logger">;

const itemsMax = 100;
const workersMax = 1_000;
const sourceMsMax = 2_000;
const keptMs = 2_000;

/** Collects once for all readers, at most every `keptMs`. */
export class Attention {
  readonly #clock: Clock;
  readonly #sources: readonly Source[];
  #kept: { readonly atMs: number; readonly body: Promise<AttentionBody> } | undefined;

  constructor(sources: Sources) {
    this.#clock = sources.clock;
    const readers: Readonly<Record<string, ReadAttention>> = {
      parts: () => partsOf(sources),
      workers: () => workersOf(sources),
      ...sources.attention,
    };
    this.#sources = Object.entries(readers).map(([name, read]) => new Source(name, read, sources));
  }

  async read(): Promise<AttentionBody> {
    const nowMs = this.#clock.nowMs();
    if (this.#kept === undefined || nowMs - this.#kept.atMs >= keptMs) {
      this.#kept = { atMs: nowMs, body: this.#collect() };
    }
    return await this.#kept.body;
  }

  async #collect(): Promise<AttentionBody> {
    const items = (await Promise.all(this.#sources.map((source) => source.items()))).flat();
    const sorted = [
      ...items.filter(({ severity }) => severity === "failed"),
      ...items.filter(({ severity }) => severity === "degraded"),
    ];
    return { total: items.length, items: sorted.slice(0, itemsMax) };
  }
}

/** One of the lists. Only one read is under way at a time, however long it takes (AP46). */
class Source {
  readonly #name: string;
  readonly #read: () => Promise<readonly AttentionItem[]>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #reading: Promise<readonly AttentionItem[]> | undefined;
  #known: readonly AttentionItem[] = [];
  #unknownSinceMs: number | undefined;

  constructor(
    name: string,
    read: () => Promise<readonly AttentionItem[]>,
    { clock, logger }: Pick<Sources, "clock" | "logger">,
  ) {
    this.#name = name;
    this.#read = read;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Never rejects. */
  async items(): Promise<readonly AttentionItem[]> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    try {
      const found = await waitAtMost(this.#clock, sourceMsMax, this.#reading);
      if (found === undefined) return this.#unknown(`no answer within ${sourceMsMax / 1_000} s`);
      this.#known = found;
    } catch (thrown) {
      if (!(thrown instanceof OperatingError)) {
        return this.#unknown("an internal error, which the log has", messageOf(thrown)); // AP2
      }
      if (thrown.code !== "not_leader") return this.#unknown(thrown.message);
      this.#known = [];
    }
    this.#unknownSinceMs = undefined;
    return this.#known;
  }

  #unknown(why: string, error = why): readonly AttentionItem[] {
    if (this.#unknownSinceMs === undefined) {
      this.#logger.warn({ error }, `${this.#name} could not be read`);
      this.#unknownSinceMs = this.#clock.wallMs();
    }
    const item: AttentionItem = {
      kind: "part",
      id: this.#name.replaceAll(" ", "_"),
      name: this.#name,
      severity: "degraded",
      state: "unknown",
      reason: `${this.#name} could not be read: ${why}`,
      since_ms: this.#unknownSinceMs,
    };
    return [...this.#known, item];
  }
}

async function partsOf({ ready }: Sources): Promise<readonly AttentionItem[]> {
  return ready().parts.flatMap(({ name, state, reason = "", since_ms }) =>
    state === "ok"
      ? []
      : [{ kind: "part", id: name, name, severity: state, state, reason, since_ms }],
  );
}

async function workersOf({ workers }: Sources): Promise<readonly AttentionItem[]> {
  const all = await workers.list({ limit: workersMax, after: undefined });
  return all.flatMap((worker): AttentionItem[] => {
    const { worker_id, state, state_reason, state_changed_at_ms, live } = worker;
    const of = { kind: "worker", id: worker_id, name: worker_id } as const;
    if (state === "UNREACHABLE") {
      const since_ms = state_changed_at_ms;
      const severity = "failed";
      return [{ ...of, severity, state: "unreachable", reason: state_reason, since_ms }];
    }
    const parts = Object.entries(live?.facts ?? {}).flatMap(
      ([key, value]) => parsePartFact(key, value) ?? [],
    );
    if (parts.length === 0) return [];
    const severity = parts.some((part) => part.state === "failed") ? "failed" : "degraded";
    const reason = parts.map((part) => `${part.name}: ${part.reason}`).join("; ");
    const since_ms = Math.min(...parts.map((part) => part.sinceMs));
    return [{ ...of, severity, state: severity, reason, since_ms }];
  });
}
