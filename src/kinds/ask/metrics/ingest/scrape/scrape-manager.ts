/**
 * Manages every scraped target: those of the configuration, those of discovered files, and this
 * process itself. Rules: IN16 to IN18.
 */
import { isDeepStrictEqual } from "node:util";
import type { Clock, Timer } from "../../../../../ground/kernel/clock.ts";
import { messageOf } from "../../../../../ground/kernel/errors.ts";
import type { Logger } from "../../../../../ground/kernel/logger.ts";
import { parseTargetFile } from "../../core/ingest/scrape/parse-scrape-config.ts";
import type {
  ScrapeConfig,
  ScrapeJob,
  TargetGroup,
} from "../../core/ingest/scrape/scrape-config.ts";
import type { ScrapeFetcher, TargetFiles } from "../../core/ingest/scrape/scrape-fetcher.ts";
import { selfJob } from "../../core/ingest/scrape/self-job.ts";
import { buildTargets, type Target } from "../../core/ingest/scrape/target.ts";
import type { ScrapedText, TargetStatus } from "../../core/ingest-service.ts";
import type { AppendOutcome, SampleBatch } from "../../core/model.ts";
import { ScrapeLoop } from "./scrape-loop.ts";

export interface ScrapeManagerOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fetcher: ScrapeFetcher;
  readonly files: TargetFiles;
  append(batch: SampleBatch): Promise<AppendOutcome>;
  /** Servers with different seeds scrape the same target at different times. */
  readonly offsetSeed: string;
}

export interface SelfTarget {
  readonly job: string;
  readonly instance: string;
  readonly intervalMs: number;
  read(): Promise<ScrapedText>;
}

/** Target files are read at least this often. */
const filePollMsMax = 5_000;

interface Pool {
  job: ScrapeJob;
  /** The last readable groups of each discovery. */
  fileGroups: readonly TargetGroup[];
  loops: Map<string, ScrapeLoop>;
  filesTimer: Timer | undefined;
}

export class ScrapeManager {
  readonly #options: ScrapeManagerOptions;
  readonly #pools = new Map<string, Pool>();
  readonly #selfLoops: ScrapeLoop[] = [];
  readonly #retiring = new Set<Timer>();
  #applying: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: ScrapeManagerOptions) {
    this.#options = options;
  }

  /** From now on scrapes only what `config` says, and this process. Calls run in sequence. */
  apply(config: ScrapeConfig): Promise<void> {
    this.#applying = this.#applying.then(() => this.#apply(config));
    return this.#applying;
  }

  async #apply(config: ScrapeConfig): Promise<void> {
    if (this.#isClosed) return;
    const wanted = new Set(config.jobs.map(({ jobName }) => jobName));
    for (const [name, pool] of this.#pools) {
      if (wanted.has(name)) continue;
      pool.filesTimer?.cancel();
      this.#pools.delete(name);
      for (const loop of pool.loops.values()) this.#retire(loop);
    }
    for (const job of config.jobs) await this.#applyJob(job);
  }

  addSelfTarget(self: SelfTarget): void {
    const job = selfJob(self.job, self.instance, self.intervalMs);
    const [target] = buildTargets(job, job.staticGroups).targets;
    if (target === undefined) throw new Error(`${self.instance} is no instance's name`);
    const encoder = new TextEncoder();
    const fetch = async (): Promise<{ body: Uint8Array; contentType: string }> => {
      const { contentType, text } = await self.read();
      return { body: encoder.encode(text), contentType };
    };
    const loop = this.#loop(target, { fetch });
    this.#selfLoops.push(loop);
    loop.start();
  }

  targets(): TargetStatus[] {
    const loops = [...this.#pools.values()].flatMap((pool) => [...pool.loops.values()]);
    return [...this.#selfLoops, ...loops].map((loop) => loop.status());
  }

  close(): void {
    this.#isClosed = true;
    for (const pool of this.#pools.values()) {
      pool.filesTimer?.cancel();
      for (const loop of pool.loops.values()) loop.halt();
    }
    for (const loop of this.#selfLoops) loop.halt();
    for (const timer of this.#retiring) timer.cancel();
    this.#retiring.clear();
  }

  async #applyJob(job: ScrapeJob): Promise<void> {
    let pool = this.#pools.get(job.jobName);
    if (pool === undefined) {
      pool = { job, fileGroups: [], loops: new Map(), filesTimer: undefined };
      this.#pools.set(job.jobName, pool);
    }
    const isSame = isDeepStrictEqual(plain(pool.job), plain(job));
    if (!isSame) pool.job = job;
    pool.filesTimer?.cancel();
    await this.#refreshFiles(pool);
    if (!this.#isClosed) this.#sync(pool, !isSame);
  }

  /** Reads the target files now, and again later. */
  async #refreshFiles(pool: Pool): Promise<void> {
    const discoveries = pool.job.fileDiscoveries;
    if (discoveries.length === 0) {
      pool.fileGroups = [];
      return;
    }
    const read = await this.#readGroups(pool.job);
    const isCurrent = this.#pools.get(pool.job.jobName) === pool;
    if (this.#isClosed || !isCurrent) return;
    const isChanged = read !== undefined && !isDeepStrictEqual(read, pool.fileGroups);
    if (isChanged) {
      pool.fileGroups = read;
      this.#sync(pool, false);
    }
    const pollMs = Math.min(filePollMsMax, ...discoveries.map(({ refreshMs }) => refreshMs));
    pool.filesTimer?.cancel();
    pool.filesTimer = this.#options.clock.after(pollMs, () => void this.#refreshFiles(pool));
  }

  /** Undefined when a file cannot be read. */
  async #readGroups(job: ScrapeJob): Promise<readonly TargetGroup[] | undefined> {
    const groups: TargetGroup[] = [];
    for (const discovery of job.fileDiscoveries) {
      try {
        for (const { path, text } of await this.#options.files.read(discovery)) {
          for (const group of parseTargetFile(text)) {
            groups.push({ ...group, labels: { ...group.labels, __meta_filepath: path } });
          }
        }
      } catch (thrown) {
        const fields = { job: job.jobName, files: discovery.files.join(" ") };
        this.#options.logger.warn(fields, `targets cannot be read: ${messageOf(thrown)}`);
        return undefined;
      }
    }
    return groups;
  }

  /** Updates the pool's loops to match its job and files. */
  #sync(pool: Pool, isChanged: boolean): void {
    const { job } = pool;
    const { targets, problems } = buildTargets(job, [...job.staticGroups, ...pool.fileGroups]);
    for (const problem of problems) this.#options.logger.warn({ job: job.jobName }, problem);
    const before = pool.loops;
    const forcedError = limitError(job, targets.length);
    pool.loops = new Map();
    for (const target of targets) {
      const previous = before.get(target.key) ?? loopOfLabels(before, target);
      const isSame = previous?.target.key === target.key && previous.forcedError === forcedError;
      if (previous !== undefined && isSame && !isChanged) {
        pool.loops.set(target.key, previous); // Unchanged: its scrapes continue.
        continue;
      }
      const loop = this.#loop(target, { forcedError, predecessor: previous });
      previous?.halt(); // Changed: the new loop takes over the series.
      pool.loops.set(target.key, loop);
      loop.start();
    }
    const kept = new Set([...pool.loops.values()].map(({ target }) => target.labels.key));
    for (const loop of before.values()) {
      const isReplaced = kept.has(loop.target.labels.key);
      if (!isReplaced) this.#retire(loop);
      else if (pool.loops.get(loop.target.key) !== loop) loop.halt();
    }
  }

  #retire(loop: ScrapeLoop): void {
    const { key } = loop.target.labels;
    const timer = loop.retire(() => {
      this.#retiring.delete(timer);
      return this.#isClosed || this.#isScraped(key);
    });
    this.#retiring.add(timer);
  }

  #isScraped(labelsKey: string): boolean {
    return [...this.#pools.values()].some((pool) =>
      [...pool.loops.values()].some(({ target }) => target.labels.key === labelsKey),
    );
  }

  #loop(
    target: Target,
    own: {
      readonly fetch?: ScrapeFetcher["fetch"];
      readonly forcedError?: string | undefined;
      readonly predecessor?: ScrapeLoop | undefined;
    },
  ): ScrapeLoop {
    const { clock, logger, fetcher, offsetSeed } = this.#options;
    return new ScrapeLoop({
      target,
      pool: target.job.jobName,
      clock,
      logger,
      offsetSeed,
      append: (batch) => this.#options.append(batch),
      fetch: own.fetch ?? ((one, signal) => fetcher.fetch(one, signal)),
      forcedError: own.forcedError,
      predecessor: own.predecessor,
    });
  }
}

/** Regular expressions are functions, so they are compared by their text. */
function plain(job: ScrapeJob): unknown {
  return JSON.parse(
    JSON.stringify(job, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value)),
  );
}

function loopOfLabels(
  loops: ReadonlyMap<string, ScrapeLoop>,
  target: Target,
): ScrapeLoop | undefined {
  return [...loops.values()].find((loop) => loop.target.labels.key === target.labels.key);
}

function limitError({ limits }: ScrapeJob, targetCount: number): string | undefined {
  if (limits.targets === 0 || targetCount <= limits.targets) return undefined;
  return `target_limit exceeded (number of targets: ${targetCount}, limit: ${limits.targets})`;
}
