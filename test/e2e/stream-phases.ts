/**
 * Kills processes in named phases of a pipeline's checkpoints and deployments. A phase is found by
 * what the coordinator logs before each step [SD51], and held as long as it takes: processes that
 * would end it are stopped, and the store's lock keeps back the transaction that would.
 */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Cluster, isAlive, waitFor } from "./harness.ts";
import type { StreamPipeline } from "./stream-pipeline.ts";

export type Victim = "coordinator" | "worker-1" | "worker-2";

const workers = ["worker-1", "worker-2"] as const;
/** After this time a phase was missed, and is looked for again. */
const phaseMsMax = 20_000;
const triesMax = 12;

interface Line {
  readonly msg: string;
  readonly query_id?: string;
  readonly worker_id?: string;
  readonly fragment?: string;
  readonly checkpoint?: number;
}

const texts = {
  triggered: "a checkpoint is triggered",
  said: "a fragment has said its state for a checkpoint",
  recording: "all fragments have said their states: a checkpoint is recorded now",
  told: "a checkpoint is recorded, and workers are told",
  answered: "a command was answered",
};

class Missed extends Error {}

export class PhaseKiller {
  readonly #cluster: Cluster;
  readonly #pipeline: StreamPipeline;
  readonly #store: DatabaseSync;
  readonly #log: LogTail;
  readonly #stopped = new Set<number>();
  #isLocked = false;

  constructor(cluster: Cluster, pipeline: StreamPipeline) {
    this.#cluster = cluster;
    this.#pipeline = pipeline;
    this.#store = new DatabaseSync(join(cluster.dataDir, "store.sqlite"), { timeout: 30_000 });
    this.#log = new LogTail(join(cluster.dataDir, "logs", "coordinator.log"));
  }

  close(): void {
    this.#release();
    this.#store.close();
  }

  /** Kills the victim in the phase, and lets everything else go on. */
  async kill(phase: PhaseName, victim: Victim): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#settle();
        await phases[phase](this);
        this.#killNow(phase, victim);
        return;
      } catch (thrown) {
        if (!(thrown instanceof Missed) || tries === triesMax) throw thrown;
      } finally {
        this.#release();
      }
    }
  }

  /** Kills it wherever it is, also in the middle of a recovery. */
  async killAnywhere(victim: Victim, waitMs: number): Promise<void> {
    this.#pipeline.grow();
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    await waitFor(`${victim} to be there`, () => {
      const pid = this.#cluster.pid(victim);
      if (!isAlive(pid)) return undefined; // It waits for its next start.
      process.kill(pid, "SIGKILL");
      return true;
    });
  }

  /** All is well: the query runs, rows come, and a checkpoint was complete a moment ago. */
  async #settle(): Promise<void> {
    await this.#cluster.waitForWorkers("ACTIVE", workers);
    const { state, state_reason: reason } = (await this.#pipeline.body()) ?? {};
    if (state === "PAUSED" || reason === "paused by request") await this.#pipeline.ask("resume");
    await this.#pipeline.until("RUNNING");
    this.#pipeline.grow();
    const since = this.#log.mark();
    await waitFor("a checkpoint", () =>
      this.#lines(since, texts.told).length > 0 ? true : undefined,
    );
  }

  #killNow(phase: PhaseName, victim: Victim): void {
    const pids = [this.#cluster.pid(victim)];
    // Nobody is left who could hear of what was recorded, or tell it.
    if (phase === "recorded" && victim === "coordinator") {
      pids.push(...workers.map((name) => this.#cluster.pid(name)));
    }
    for (const pid of pids) {
      process.kill(pid, "SIGKILL");
      this.#stopped.delete(pid);
    }
  }

  // What phases are reached by

  mark(): number {
    return this.#log.mark();
  }

  async line(since: number, text: string, count = 1): Promise<readonly Line[]> {
    const untilMs = performance.now() + phaseMsMax;
    for (;;) {
      const found = this.#lines(since, text);
      if (found.length >= count) return found;
      if (performance.now() > untilMs) throw new Missed(`${count} times "${text}"`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  /** Throws where it is in the log: the phase is over. */
  without(since: number, text: string, fewerThan = 1): void {
    if (this.#lines(since, text).length >= fewerThan) throw new Missed(text);
  }

  #lines(since: number, text: string): readonly Line[] {
    return this.#log.since(since).filter(({ msg }) => msg === text);
  }

  stop(...names: readonly Victim[]): void {
    for (const name of names) {
      const pid = this.#cluster.pid(name);
      process.kill(pid, "SIGSTOP");
      this.#stopped.add(pid);
    }
  }

  goOn(...names: readonly Victim[]): void {
    for (const name of names) {
      const pid = this.#cluster.pid(name);
      process.kill(pid, "SIGCONT");
      this.#stopped.delete(pid);
    }
  }

  lock(): void {
    this.#store.exec("BEGIN IMMEDIATE");
    this.#isLocked = true;
  }

  unlock(): void {
    if (this.#isLocked) this.#store.exec("ROLLBACK");
    this.#isLocked = false;
  }

  #release(): void {
    this.unlock();
    for (const pid of this.#stopped) if (isAlive(pid)) process.kill(pid, "SIGCONT");
    this.#stopped.clear();
  }

  /** As the store has it at this very moment. */
  state(): string {
    const row = this.#store
      .prepare("SELECT state FROM queries WHERE name = ?")
      .get(this.#pipeline.name);
    return String(row?.state);
  }

  /** The number of the newest complete checkpoint. */
  recorded(): number {
    const row = this.#store
      .prepare(
        "SELECT max(checkpoint) AS n FROM query_checkpoints JOIN queries USING (query_id) WHERE name = ?",
      )
      .get(this.#pipeline.name);
    return Number(row?.n ?? 0);
  }

  async paused(): Promise<void> {
    await this.#pipeline.ask("pause");
    await this.#pipeline.until("PAUSED");
  }

  resume(): Promise<void> {
    return this.#pipeline.ask("resume");
  }

  /** Looks without a pause: a phase may be over within a millisecond. */
  async at(what: string, isNow: () => boolean): Promise<void> {
    const untilMs = performance.now() + phaseMsMax;
    while (!isNow()) {
      if (performance.now() > untilMs) throw new Missed(what);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

type Reach = (at: PhaseKiller) => Promise<void>;

/** Both workers were told to register, and nobody has answered. */
async function registering(at: PhaseKiller): Promise<number> {
  await at.paused();
  at.stop(...workers);
  const since = at.mark();
  await at.resume();
  await at.line(since, "register", workers.length);
  at.without(since, texts.answered);
  return since;
}

/** Both have registered, and the store cannot learn of it. */
async function registered(at: PhaseKiller): Promise<number> {
  const since = await registering(at);
  at.lock();
  at.goOn(...workers);
  await at.line(since, texts.answered, workers.length);
  at.without(since, "start");
  return since;
}

/** All have said their states, and the transaction has to wait. */
async function recording(at: PhaseKiller): Promise<number> {
  at.lock();
  const since = at.mark();
  await at.line(since, texts.recording);
  at.without(since, texts.told);
  return since;
}

export const phases = {
  // Of a checkpoint.
  triggered: async (at) => {
    at.stop(...workers);
    const since = at.mark();
    await at.line(since, texts.triggered);
    at.without(since, texts.said);
  },
  acknowledging: async (at) => {
    at.stop("worker-2");
    const since = at.mark();
    await at.line(since, texts.triggered);
    await at.line(since, texts.said);
    at.without(since, texts.recording);
  },
  acknowledged: async (at) => {
    await recording(at);
  },
  recorded: async (at) => {
    await recording(at);
    const before = at.recorded();
    at.stop(...workers);
    at.unlock();
    await at.at("the record", () => at.recorded() > before);
  },
  told: async (at) => {
    await at.line(at.mark(), texts.told);
  },
  // Of a deployment.
  planned: async (at) => {
    await at.paused();
    const asked = at.resume();
    await at.at("PENDING", () => at.state() !== "PAUSED");
    at.stop("coordinator");
    void asked;
    if (at.state() !== "PENDING") throw new Missed("it is deployed already");
  },
  registering: async (at) => {
    await registering(at);
  },
  registered: async (at) => {
    await registered(at);
  },
  starting: async (at) => {
    const since = await registered(at);
    at.stop("worker-2");
    at.unlock();
    await at.line(since, "start", workers.length);
    if (at.state() === "RUNNING") throw new Missed("it runs already");
  },
  running: async (at) => {
    await at.paused();
    await at.resume();
    await at.at("RUNNING", () => at.state() === "RUNNING");
  },
} as const satisfies Readonly<Record<string, Reach>>;

export type PhaseName = keyof typeof phases;

/** The lines of a log file as they come. */
class LogTail {
  readonly #path: string;
  readonly #lines: Line[] = [];
  #offset = 0;
  #rest = "";

  constructor(path: string) {
    this.#path = path;
  }

  mark(): number {
    this.#read();
    return this.#lines.length;
  }

  since(mark: number): readonly Line[] {
    this.#read();
    return this.#lines.slice(mark);
  }

  #read(): void {
    const { size } = statSync(this.#path);
    if (size < this.#offset) this.#offset = 0; // A new file: the old one was full.
    if (size === this.#offset) return;
    const bytes = Buffer.alloc(size - this.#offset);
    const file = openSync(this.#path, "r");
    readSync(file, bytes, 0, bytes.length, this.#offset);
    closeSync(file);
    this.#offset = size;
    const lines = `${this.#rest}${bytes.toString("utf8")}`.split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith("{")) this.#lines.push(JSON.parse(line) as Line);
  }
}
