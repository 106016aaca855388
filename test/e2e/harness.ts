/**
 * Real processes for tests and benchmarks: a cluster by `capstan up`, single processes, the command
 * line, and requests to them. Everything is in a temporary directory and on free ports, and ends
 * with the process that started it.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const root = join(import.meta.dirname, "..", "..");
export const launcher = join(root, "bin", "capstan.js");

/** The timeout of everything, for a busy machine. */
const patienceMs = 120_000;

/** The processes that this file started and that still run. */
const running = new Set<ChildProcess>();

let isStopping = false;

/** For an `after` hook: a test that failed half-way leaves nothing behind. */
export async function stopEverything(): Promise<void> {
  isStopping = true;
  await Promise.all(
    [...running].map(async (child) => {
      child.kill("SIGCONT");
      child.kill("SIGTERM");
      await once(child, "exit");
    }),
  );
}

/** The lines of `capstan up --json`. */
export interface UpEvent {
  readonly event: string;
  readonly [field: string]: unknown;
}

export interface ClusterOptions {
  readonly workers?: number;
  /** A Postgres URL; defaults to SQLite in the data directory. */
  readonly store?: string;
  /** Kept after `stop` when given; defaults to a temporary one. */
  readonly dataDir?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The limit of the first start, which may build the dashboard. */
  readonly startMsMax?: number;
}

/** A `capstan up` and its children. */
export class Cluster {
  readonly dataDir: string;
  readonly events: UpEvent[] = [];
  /** Everything that it printed besides events. */
  stderr = "";
  readonly #process: ChildProcess;
  readonly #keepDir: boolean;
  readonly #exited: Promise<number>;

  constructor(process: ChildProcess, dataDir: string, keepDir: boolean) {
    this.#process = process;
    this.dataDir = dataDir;
    this.#keepDir = keepDir;
    this.#exited = once(process, "exit").then(
      ([code, signal]) => code ?? (signal === null ? 1 : 128),
    );
    assert(process.stdout !== null && process.stderr !== null);
    createInterface({ input: process.stdout }).on("line", (line) => {
      if (line.startsWith("{")) this.events.push(JSON.parse(line) as UpEvent);
    });
    process.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.stderr = `${this.stderr}${text}`.slice(-100_000);
    });
  }

  get url(): string {
    return this.#upFile().url;
  }

  get exited(): Promise<number> {
    return this.#exited;
  }

  /** `up`, `coordinator`, `worker-1`, … */
  pid(name: string): number {
    const pid = name === "up" ? this.#process.pid : this.#upFile().processes[name]?.pid;
    assert(pid !== undefined, `there is no process ${name}`);
    return pid;
  }

  pids(): Readonly<Record<string, number>> {
    const names = Object.keys(this.#upFile().processes);
    return Object.fromEntries(["up", ...names].map((name) => [name, this.pid(name)]));
  }

  /** Where a worker answers /healthz, /readyz and /metrics. */
  monitorUrl(name: string): string {
    const url = this.#upFile().processes[name]?.url;
    assert(url !== undefined, `${name} is not ready`);
    return url;
  }

  kill(name: string, signal: NodeJS.Signals): void {
    process.kill(this.pid(name), signal);
  }

  log(name: string): string {
    return readFileSync(join(this.dataDir, "logs", `${name}.log`), "utf8");
  }

  clusterToken(): string {
    return readFileSync(join(this.dataDir, "cluster-token"), "utf8").trim();
  }

  async waitForEvent(
    matches: (event: UpEvent) => boolean,
    what: string,
    waitMsMax = patienceMs,
  ): Promise<UpEvent> {
    return await waitFor(what, () => this.events.find(matches), waitMsMax);
  }

  /** Resolves when all workers of the cluster are in the state. */
  async waitForWorkers(
    state: string,
    names: readonly string[],
    waitMsMax = patienceMs,
  ): Promise<void> {
    await waitFor(
      `${names.join(", ")} to be ${state}`,
      async () => {
        const workers = await listWorkers(this.url).catch(() => []);
        return names.every((name) =>
          workers.some((worker) => worker.worker_id === name && worker.state === state),
        )
          ? true
          : undefined;
      },
      waitMsMax,
    );
  }

  /** Sends Ctrl-C and returns the exit code of `up`. */
  async stop(): Promise<number> {
    const gone = this.#process.exitCode !== null || this.#process.signalCode !== null;
    if (!gone) this.#process.kill("SIGINT");
    const code = await this.#exited;
    if (!this.#keepDir) removeDir(this.dataDir);
    return code;
  }

  #upFile(): { url: string; processes: Record<string, { pid: number; url?: string }> } {
    return JSON.parse(readFileSync(join(this.dataDir, "up.json"), "utf8"));
  }
}

/** Retries with another port when another test has taken the one that `up` chose. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce(options);
    } catch (thrown) {
      if (attempt === 3 || !/port \d+ on \S+ is in use/.test(String(thrown))) throw thrown;
    }
  }
}

async function startOnce(options: ClusterOptions): Promise<Cluster> {
  const dataDir = options.dataDir ?? makeDir();
  const args = [
    ...["up", "--json", "--no-dashboard", "--port", "0", "--data-dir", dataDir],
    ...["--workers", String(options.workers ?? 2)],
    ...(options.args ?? []),
  ];
  const env = {
    ...options.env,
    ...(options.store === undefined ? {} : { CAPSTAN_STORE: options.store }),
  };
  const cluster = new Cluster(spawnCapstan(args, env), dataDir, options.dataDir !== undefined);
  const failed = cluster.exited.then((code) => {
    throw new Error(`capstan up exited with ${code}: ${cluster.stderr}`);
  });
  failed.catch(() => undefined); // Only checked until it is up.
  const up = cluster.waitForEvent(
    ({ event }) => event === "up",
    "up",
    options.startMsMax ?? patienceMs,
  );
  await Promise.race([up, failed]);
  return cluster;
}

/** A process started apart: `coordinator`, `query-api`, `worker`. */
export class CapstanProcess {
  output = "";
  readonly #process: ChildProcess;
  readonly #exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  #endAsked = false;

  constructor(process: ChildProcess) {
    this.#process = process;
    this.#exited = once(process, "exit").then(([code, signal]) => {
      if (!this.#endAsked && !isStopping) reportEnd(process, { code, signal }, this.output);
      return { code, signal };
    });
    for (const stream of [process.stdout, process.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.output = `${this.output}${text}`.slice(-1_000_000);
      });
    }
  }

  get pid(): number {
    assert(this.#process.pid !== undefined);
    return this.#process.pid;
  }

  get exited(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    return this.#exited;
  }

  kill(signal: NodeJS.Signals): void {
    this.#endAsked = true;
    this.#process.kill(signal);
  }

  /** The URL of its "listening" line. */
  async url(): Promise<string> {
    return await waitFor(
      "the process to listen",
      () => /"url":"(http[^"]+)"/.exec(this.output)?.[1],
      patienceMs,
      () => this.output,
    );
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      this.#endAsked = true;
      this.#process.kill(signal);
    }
    return (await this.#exited).code;
  }
}

/** Reports an unexpected end: a test that fails because of it only says what it missed. */
function reportEnd(
  { pid, spawnargs }: ChildProcess,
  { code, signal }: { code: number | null; signal: NodeJS.Signals | null },
  output: string,
): void {
  const lines = output.trimEnd().split("\n").slice(-20).join("\n");
  const what = `${spawnargs.slice(2, 4).join(" ")} (process ${pid})`;
  process.stderr.write(`${what} ended by itself: code ${code}, signal ${signal}\n${lines}\n`);
}

export function startProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): CapstanProcess {
  return new CapstanProcess(spawnCapstan(args, env));
}

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end. */
export async function runCli(
  args: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly input?: string } = {},
): Promise<CliResult> {
  const child = spawn(process.execPath, [launcher, ...args], {
    env: cleanEnv(options.env ?? {}),
    stdio: ["pipe", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.stdin.end(options.input ?? "");
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout, stderr };
}

export interface HttpOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export async function http(url: string, options: HttpOptions = {}): Promise<Response> {
  return await fetch(url, {
    method: options.method ?? "GET",
    headers: {
      ...(options.body === undefined ? {} : { "content-type": "application/json" }),
      ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
      ...options.headers,
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
}

export async function getJson<T>(url: string, options: HttpOptions = {}): Promise<T> {
  const response = await http(url, options);
  assert.equal(response.status, 200, `${url} answered ${response.status}`);
  return (await response.json()) as T;
}

export interface Worker {
  readonly worker_id: string;
  readonly state: string;
  readonly state_reason: string;
  readonly draining: boolean;
  readonly drain_requested: boolean;
  readonly accepting_work: boolean;
  readonly incarnation: string;
  readonly data_port: number;
  readonly live: {
    readonly session: boolean;
    readonly facts: Readonly<Record<string, string>>;
  } | null;
}

export async function listWorkers(url: string): Promise<readonly Worker[]> {
  const { items } = await getJson<{ items: readonly Worker[] }>(`${url}/api/v1/workers`);
  return items;
}

export interface QueryRecord {
  readonly query_id: string;
  readonly text: string;
  readonly state: string;
  readonly worker_id: string | null;
  readonly attempts: number;
}

export async function listQueries(url: string): Promise<readonly QueryRecord[]> {
  const { items } = await getJson<{ items: readonly QueryRecord[] }>(`${url}/api/v1/queries`);
  return items;
}

export interface SqlAnswer {
  readonly status: number;
  readonly queryId: string | null;
  readonly rows: readonly (readonly unknown[])[];
  readonly summary: { readonly row_count: number; readonly worker_id: string } | undefined;
  /** From the status before the first byte, or from the last line. */
  readonly error: { readonly code: string; readonly message: string } | undefined;
}

/** Runs a statement through the API and reads the whole answer. */
export async function sql(
  url: string,
  text: string,
  options: HttpOptions = {},
): Promise<SqlAnswer> {
  const response = await http(`${url}/api/v1/sql`, {
    method: "POST",
    body: { sql: text },
    ...options,
  });
  const body = await response.text();
  const queryId = response.headers.get("x-capstan-query-id");
  if (response.status !== 200) {
    return {
      status: response.status,
      queryId,
      rows: [],
      summary: undefined,
      error: JSON.parse(body),
    };
  }
  const lines = body
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const trailer = lines.at(-1) as Pick<SqlAnswer, "summary" | "error">;
  const rows = lines.filter((line) => Array.isArray(line)) as unknown[][];
  return { status: 200, queryId, rows, summary: trailer.summary, error: trailer.error };
}

export type Rows = readonly (readonly unknown[])[];

/** Returns the rows of an answer; throws its error. */
export async function rowsOf(url: string, text: string, options?: HttpOptions): Promise<Rows> {
  const { rows, error } = await sql(url, text, options);
  if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
  return rows;
}

/** The shortest and the longest pause between two looks. */
const lookMsMin = 20;
const lookMsMax = 200;

/**
 * Asks until there is an answer, at first every 20 ms. The pauses become a tenth of what it has
 * waited so far: what is waited for takes its time anyway, and looking takes CPU time on both
 * sides. `waitMsMax` counts only above the general timeout.
 */
export async function waitFor<T>(
  what: string,
  ask: () => T | undefined | Promise<T | undefined>,
  waitMsMax = patienceMs,
  explain: () => string = () => "",
): Promise<T> {
  const waitMs = Math.max(waitMsMax, patienceMs);
  const beganMs = performance.now();
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    const waitedMs = performance.now() - beganMs;
    if (waitedMs > waitMs) throw new Error(`waited ${waitMs} ms for ${what} ${explain()}`);
    const pauseMs = Math.min(Math.max(lookMsMin, waitedMs / 10), lookMsMax);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

const triesMax = 5;

/**
 * For a time that the product promises, on a machine that may be busy with other things just now:
 * measures until one try keeps to it, and fails when none of five does. Resolves with that try's
 * time, in milliseconds.
 */
export async function onceWithin(
  what: string,
  msMax: number,
  measure: () => Promise<number>,
): Promise<number> {
  const times: number[] = [];
  while (times.length < triesMax) {
    const ms = await measure();
    if (ms <= msMax) return ms;
    times.push(Math.round(ms));
  }
  assert.fail(`${what} took ${times.join(", ")} ms; at most ${msMax} ms is promised`);
}

/** Complete lines: the last one may still be incomplete. */
export function wholeLines(output: string): readonly string[] {
  return output.split("\n").slice(0, -1);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    // A process that ended and was not waited for is not alive.
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return process.platform !== "linux";
  }
}

export function makeDir(): string {
  return mkdtempSync(join(tmpdir(), "capstan-e2e-"));
}

export function removeDir(dir: string): void {
  rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
}

/** The IPC channel ends the process together with this one. */
function spawnCapstan(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): ChildProcess {
  const child = spawn(process.execPath, [launcher, ...args], {
    env: cleanEnv({ ...env, CAPSTAN_LAUNCHED: "1" }),
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

/** Hides the caller's own Capstan settings, except those of `npm test`. */
function cleanEnv(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(CAPSTAN_(?!PROGRAM$|WARM_UP$)|OTEL_|NODE_TEST)/.test(name),
  );
  return { ...Object.fromEntries(inherited), ...env };
}
